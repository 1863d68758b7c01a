"""The file's values as objects of CloudStack, field by field. Pure."""

from collections.abc import Iterator

from cloudstack_ext.registration.actions import (
    ACTIONS,
    FAILURE,
    SUCCESS,
    TIMEOUT_S,
    ActionParameter,
    RoleType,
)
from cloudstack_ext.registration.model import LATER, Kind, Wish
from cloudstack_ext.registration.places import Places
from cloudstack_ext.registration.wanted import (
    ActionWanted,
    ImageWanted,
    PoolWanted,
    SizeWanted,
    Wanted,
)

HYPERVISOR = "External"


def wishes(
    wanted: Wanted, places: Places, *, extension: str = LATER, cluster: str = LATER
) -> tuple[Wish, ...]:
    """All objects that the file wants, in the order of making.

    Args:
        wanted: The file.
        places: Ids of what it names.
        extension: Its id, where it is there.
        cluster: Likewise.
    """
    return (
        _extension(wanted),
        _cluster(wanted, places, extension),
        *(_host(pool, cluster) for pool in wanted.pools),
        *(_action(action) for action in wanted.actions),
        *(_template(image, wanted, places, extension) for image in wanted.images),
        *(_offering(size, wanted, places) for size in wanted.sizes),
        *_foreign(wanted),
    )


def _extension(wanted: Wanted) -> Wish:
    extension = wanted.extension
    return Wish(
        kind=Kind.EXTENSION,
        name=extension.name,
        fields={
            "description": extension.text,
            "orchestratorrequirespreparevm": "true",
            "path": f"{extension.name}/{extension.path}",
        },
    )


def _cluster(wanted: Wanted, places: Places, extension: str) -> Wish:
    return Wish(
        kind=Kind.CLUSTER,
        name=wanted.cluster.name,
        fields={
            "clustername": wanted.cluster.name,
            "arch": wanted.cluster.arch,
            "hypervisor": HYPERVISOR,
            "zoneid": places.zone,
            "podid": places.pod,
            "extensionid": extension,
        },
    )


def _host(pool: PoolWanted, cluster: str) -> Wish:
    return Wish(
        kind=Kind.HOST,
        name=pool.host,
        fields={
            "name": pool.host,
            "hosttags": ",".join(sorted({pool.tag, *pool.more_tags})),
            "clusterid": cluster,
        },
        details={"pool": pool.pool, "host": pool.host},
        facts={"pool": pool.pool, "tag": pool.tag},
    )


def _action(wanted: ActionWanted) -> Wish:
    action = ACTIONS[wanted.name]
    return Wish(
        kind=Kind.ACTION,
        name=wanted.name,
        fields={
            "description": action.text,
            "allowedroletypes": roles_text(role.value for role in wanted.roles),
            "enabled": "true" if wanted.enabled else "false",
            "timeout": str(TIMEOUT_S),
            "successmessage": SUCCESS,
            "errormessage": FAILURE,
            "parameters": parameters_text(action.parameters),
        },
    )


def roles_text(roles: Iterator[str]) -> str:
    """Without Admin, whom CloudStack always lets and adds only sometimes."""
    return ",".join(sorted(set(roles) - {RoleType.ADMIN.value}))


def parameters_text(parameters: tuple[ActionParameter, ...]) -> str:
    """All parameters of an action, as one field that can be compared and read."""
    return ", ".join(
        f"{each.name} {each.kind} {each.format} {'required' if each.required else 'optional'}"
        for each in parameters
    )


def _template(image: ImageWanted, wanted: Wanted, places: Places, extension: str) -> Wish:
    return Wish(
        kind=Kind.TEMPLATE,
        name=image.template,
        fields={
            "name": image.template,
            "displaytext": image.text or image.template,
            "ostypeid": places.systems[image.os],
            "arch": wanted.cluster.arch,
            "ispublic": "true" if image.public else "false",
            "isfeatured": "true" if image.featured else "false",
            "zoneid": places.zone,
            "extensionid": extension,
        },
        details={"image": image.image},
        facts={"image": image.image},
    )


def _offering(size: SizeWanted, wanted: Wanted, places: Places) -> Wish:
    pool = wanted.host_of(size.pool)
    return Wish(
        kind=Kind.OFFERING,
        name=size.name,
        fields={
            "name": size.name,
            "displaytext": size.text or size.name,
            "cpunumber": str(size.cpu),
            "cpuspeed": str(size.mhz),
            "memory": str(size.memory_mib),
            "gpucount": str(size.gpucount or ""),
            "offerha": "false",
            "hosttags": pool.tag,
            "domainid": ",".join(sorted(places.domains[path] for path in size.domains)),
            "zoneid": places.zone,
            "state": "Active",
        },
        facts={"pool": size.pool},
    )


def _foreign(wanted: Wanted) -> Iterator[Wish]:
    for each in wanted.foreign_templates:
        yield Wish(kind=Kind.FOREIGN_TEMPLATE, name=each.id, facts={"image": each.image})
