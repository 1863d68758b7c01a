"""The generation of this database, raised with all that an old copy must not know."""

from provisioner.store.triggers.words import Guards, also, refuse, stay


def generation() -> Guards:
    """Of site_state, and of what raises it."""
    yield stay("site_state")
    yield refuse(
        "site_state_once",
        "INSERT ON site_state",
        "EXISTS (SELECT 1 FROM site_state)",
        "site_state: one row",
    )
    yield refuse(
        "site_state_rises",
        "UPDATE ON site_state",
        "NEW.database_id <> OLD.database_id OR NEW.generation < OLD.generation",
        "site_state: a generation never falls",
    )
    raised = "UPDATE site_state SET generation = generation + 1"
    yield also("generation_of_a_hand_out", "INSERT ON allocation", raised)
    yield also(
        "generation_of_an_end",
        "UPDATE OF ended_at ON allocation WHEN NEW.ended_at IS NOT OLD.ended_at",
        raised,
    )
    # a copy from the middle of an operation would do it again, to whoever has the server now
    yield also("generation_of_an_operation", "INSERT ON operation", raised)
    yield also(
        "generation_of_its_end",
        "UPDATE OF status ON operation WHEN NEW.status IS NOT OLD.status",
        raised,
    )
    yield also(
        "generation_of_an_offer",
        "UPDATE OF state ON server WHEN NEW.state = 'AVAILABLE' AND OLD.state <> 'AVAILABLE'",
        raised,
    )
