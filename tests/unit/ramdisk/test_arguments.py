from provisioner.agent.settings import parse_arguments, parse_settings
from provisioner.ramdisk.arguments import boot_arguments
from provisioner.secret import Secret
from provisioner.units import MacAddress, WallSeconds


def line(**changed):
    given = {
        "url": "https://10.66.0.1:8443",
        "token": Secret("t0ken"),
        "mac": MacAddress("02:00:00:00:00:0A"),
        "now": WallSeconds(1795996800.7),
        "console": "ttyS1,115200n8",
        "more": "",
    }
    return boot_arguments(**{**given, **changed})


def test_the_agent_reads_what_was_written():
    settings = parse_settings(line(), "")
    assert (settings.host, settings.port, settings.token) == ("10.66.0.1", 8443, "t0ken")
    words = parse_arguments(line())
    assert (words["mac"], words["now"]) == ("02:00:00:00:00:0a", "1795996800")


def test_console_and_quiet_come_first():
    assert line().startswith("console=ttyS1,115200n8 quiet ")
    assert line(console=None).startswith("quiet ")


def test_a_servers_own_arguments_never_replace_ours():
    settings = parse_settings(line(more="pci=nomsi rackwright.token=mine"), "")
    assert settings.token == "t0ken"
    assert "pci=nomsi" in line(more="pci=nomsi").split()
