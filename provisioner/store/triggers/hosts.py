"""One machine, one role (invariant 15): what a server is, no GPU host is, and the other way."""

from provisioner.store.triggers.words import Guards, append, keep, refuse

_SERVER_IS_IT = (
    "SELECT 1 FROM server s WHERE s.state <> 'RETIRED' AND (s.host = NEW.controller_host"
    " AND s.port = NEW.controller_port OR NEW.machine_uuid IN (s.system_uuid, s.board_uuid))"
)
_HOST_IS_IT = (
    "NEW.state <> 'RETIRED' AND EXISTS (SELECT 1 FROM host h WHERE h.controller_host = NEW.host"
    " AND h.controller_port = NEW.port OR h.machine_uuid IN (NEW.system_uuid, NEW.board_uuid))"
)
_ANOTHER_HOST = (
    "SELECT 1 FROM host h WHERE h.name IS NOT NEW.name AND (h.controller_host = NEW.controller_host"
    " AND h.controller_port = NEW.controller_port OR h.machine_uuid = NEW.machine_uuid)"
)


def hosts() -> Guards:
    """What a host must never be."""
    yield append("host", "name")
    yield keep("host", "name")
    named = "UPDATE OF controller_host, controller_port, machine_uuid"
    for event in ("INSERT", named):
        yield refuse(
            f"host_{event[:6].lower()}_one_machine",
            f"{event} ON host",
            f"EXISTS ({_SERVER_IS_IT}) OR EXISTS ({_ANOTHER_HOST})",
            "UNIQUE host: one machine, one role",
        )
    for event in ("INSERT", "UPDATE OF host, port, system_uuid, board_uuid, state"):
        yield refuse(
            f"server_{event[:6].lower()}_no_host",
            f"{event} ON server",
            _HOST_IS_IT,
            "UNIQUE server: one machine, one role",
        )
