"""The kernel command line that the ramdisk's /init and agent read."""

from provisioner.secret import Secret
from provisioner.units import MacAddress, WallSeconds


def boot_arguments(
    *,
    url: str,
    token: Secret,
    mac: MacAddress,
    now: WallSeconds,
    console: str | None = None,
    more: str = "",
) -> str:
    """The line in clear: it goes into the one script of this boot, and nowhere else.

    Args:
        url: Of the service on the provisioning network: https://address:port.
        token: Of this boot.
        mac: Of the card that the server boots from; the same card is used for the agent.
        now: The ramdisk's clock is set to it, since a server's own may be years wrong.
        console: Device and speed, as `console=` takes them; None leaves it to the kernel.
        more: The server's own kernel arguments, before ours: ours win.
    """
    words = [] if console is None else [f"console={console}"]
    # quiet: without it the kernel would print this line, token included, on the console
    words += ["quiet", *more.split()]
    words += [f"rackwright.url={url}", f"rackwright.token={token.reveal()}"]
    words += [f"rackwright.mac={mac.lower()}", f"rackwright.now={int(now)}"]
    return " ".join(words)
