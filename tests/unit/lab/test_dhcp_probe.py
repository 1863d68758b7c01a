import struct

from provisioner.lab import dhcp_probe

NUMBER = b"abcd"
MAC = bytes.fromhex("525400660101")


def reply(kind=2, number=NUMBER, option_53=2, file=b"undionly.kpxe"):
    fixed = struct.pack("!4B4sHH4s4s4s4s", kind, 1, 6, 0, number, 0, 0, *[bytes(4)] * 4)
    fixed = fixed[:16] + bytes((10, 66, 0, 101)) + fixed[20:28] + MAC.ljust(16, b"\0")
    fixed = fixed.ljust(108, b"\0") + file.ljust(128, b"\0")
    options = bytes((99, 130, 83, 99, 53, 1, option_53, 54, 4, 10, 66, 0, 1, 0, 255))
    return bytes(23) + b"\x11" + bytes(18) + fixed + options


def test_an_offer_is_read():
    lease = dhcp_probe._offer(reply(), NUMBER)

    assert lease == dhcp_probe.Lease(
        address="10.66.0.101", server="10.66.0.1", boot_file="undionly.kpxe"
    )


def test_everything_else_on_the_wire_is_no_offer():
    assert dhcp_probe._offer(reply(number=b"dcba"), NUMBER) is None
    assert dhcp_probe._offer(reply(kind=1), NUMBER) is None
    assert dhcp_probe._offer(reply(option_53=5), NUMBER) is None
    assert dhcp_probe._offer(bytes(60), NUMBER) is None
    assert dhcp_probe._offer(b"", NUMBER) is None


def test_the_question_is_a_broadcast_with_right_checksum():
    frame = dhcp_probe._discover_frame(MAC, NUMBER)

    assert frame[:12] == b"\xff" * 6 + MAC
    words = struct.unpack("!10H", frame[14:34])
    assert sum(words) % 0xFFFF == 0
    assert len(frame) == 14 + 20 + 8 + 300
