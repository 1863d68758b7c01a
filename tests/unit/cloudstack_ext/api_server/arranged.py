"""What a state must be like before the request of a recorded pair."""

from tests.unit.cloudstack_ext.api_server.circumstances import BY_COMMAND, BY_NAME
from tests.unit.cloudstack_ext.api_server.recorded import objects_in, uuids

CREATED = {
    "addAnnotation": "annotation",
    "addCluster": "cluster",
    "addCustomAction": "extensioncustomaction",
    "addHost": "host",
    "createExtension": "extension",
    "createProject": "project",
    "createRole": "role",
    "createServiceOffering": "serviceoffering",
    "deployVirtualMachine": "virtualmachine",
    "registerTemplate": "template",
}
"""What an answer shows as new, and is not there before."""


def arrange(name, world):
    """Everything that the pair names is there; then what its circumstance changes."""
    pair = world.pair
    command = pair["request"]["command"]
    new = CREATED.get(command)
    made = {
        row["id"]
        for kind, row in objects_in([pair["answer"], pair.get("job_final", {})])
        if kind == new
    }
    if command == "deployVirtualMachine":
        made |= {each["id"] for each in pair["answer"].values() if "id" in each}
    answered = [row["id"] for _kind, row in objects_in(pair["answer"])]
    ids = [*uuids(pair["request"]), *uuids(pair["answer"]), *uuids(pair.get("job_final", {}))]
    if command in {"listExtensions", "listCustomActions"}:  # the newest first
        ids = [*reversed(answered), *ids]
    for each in dict.fromkeys(ids):
        if each not in made and not _is_there(world, each):
            world.add(each)
    if command in BY_COMMAND and not name.startswith("error_431"):
        BY_COMMAND[command](world)
    for key, function in BY_NAME.items():
        if key in name:
            function(world)
    return world


def _is_there(world, id_):
    state = world.state
    tables = (state.extensions, state.clusters, state.hosts, state.templates, state.offerings)
    return any(id_ in table for table in tables) and id_ not in world.own
