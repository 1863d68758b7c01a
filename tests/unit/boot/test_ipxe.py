import pytest

from provisioner.boot.ipxe import Loaded, ask, command_line, load, shut
from provisioner.errors import InputError

BOOT = Loaded(
    kernel="http://10.66.0.1:8081/blobs/ramdisk/vmlinuz",
    ramdisk="http://10.66.0.1:8081/blobs/ramdisk/initrd.img",
    site="http://10.66.0.1:8081/blobs/ramdisk/site.img",
    arguments="console=ttyS0,115200  quiet rackwright.token=abc",
)


def test_script_names_both_archives_for_uefi_in_the_order_in_which_they_are_unpacked():
    script = load(BOOT)

    assert script.startswith("#!ipxe\n")
    assert (
        "kernel --name vmlinuz http://10.66.0.1:8081/blobs/ramdisk/vmlinuz "
        "console=ttyS0,115200 quiet rackwright.token=abc initrd=initrd.img initrd=site.img"
    ) in script
    assert script.index("initrd --name initrd.img") < script.index("initrd --name site.img")


def test_a_part_that_does_not_come_is_asked_for_again_instead_of_going_on_to_the_disk():
    lines = load(BOOT).splitlines()

    loading = [line for line in lines if line.startswith(("kernel", "initrd", "boot"))]
    assert len(loading) == 4
    assert all(line.endswith("|| goto again") for line in loading)
    assert lines[-1] == "goto load"


def test_a_service_that_is_away_is_asked_again_instead_of_going_on_to_the_disk():
    lines = ask("http://10.66.0.1:8080/boot/ipxe").splitlines()

    url = "http://10.66.0.1:8080/boot/ipxe?mac=${netX/mac}"
    assert f"chain --replace {url} || goto again" in lines
    assert lines[-1] == "goto ask"


def test_a_machine_without_an_operation_never_reaches_its_disk():
    assert shut().splitlines()[-1] == "goto stay"
    assert "exit" not in shut()


@pytest.mark.parametrize(
    "words",
    ["quiet\ngoto x ${a}", "a=${net0/ip}", 'a="b c"', "a=b\\", "quiet || shell", "x && shell", "é"],
)
def test_arguments_that_ipxe_would_read_as_its_own_syntax_are_refused(words):
    with pytest.raises(InputError):
        command_line(words)


def test_line_ends_in_arguments_are_nothing_but_white_space():
    assert command_line(" quiet\n console=ttyS0 \t") == "quiet console=ttyS0"


def test_usual_arguments_pass():
    words = "console=ttyS1,115200n8 pci=realloc,nocrs iommu=pt systemd.unit=a@b.service x=[1-2]"

    assert command_line(words) == words
