"""Everything that is known before a registration is planned, and the plan made of it."""

from dataclasses import dataclass, replace

from cloudstack_ext.registration.calls import Ids, commands
from cloudstack_ext.registration.found import Found
from cloudstack_ext.registration.model import LATER, Plan, Remembered
from cloudstack_ext.registration.places import Places
from cloudstack_ext.registration.plan import extension_and_cluster, make_plan
from cloudstack_ext.registration.quotas import over_limits
from cloudstack_ext.registration.reading import (
    Api,
    allowed_commands,
    confirm_absence,
    read_account,
    read_found,
    read_own_account,
    read_places,
    refuse_missing,
)
from cloudstack_ext.registration.wanted import Wanted
from cloudstack_ext.registration.wishes import wishes
from provisioner.errors import ConflictError, ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was seen at one moment.

    Attributes:
        memory: All rows of the site.
        ids: For the calls of the plan's steps.
    """

    wanted: Wanted
    places: Places
    found: Found
    memory: tuple[Remembered, ...]
    ids: Ids
    plan: Plan

    def refuse_missing_rights(self) -> None:
        """Raises InputError CLOUDSTACK_RIGHTS, with every rule that the plan's commands lack."""
        refuse_missing(commands(self.plan.steps, self.ids), self.found.commands)

    def with_plan(self, plan: Plan) -> "Survey":
        """The same, with another way to go."""
        return replace(self, plan=plan)


async def survey(
    api: Api, wanted: Wanted, memory: tuple[Remembered, ...], *, database: str
) -> Survey:
    """Look, and plan; nothing is changed.

    Raises:
        InputError: CLOUDSTACK_KEY; CLOUDSTACK_RIGHTS: with every rule that looking lacks.
        ConflictError: REGISTRATION_REFUSED: what the file names is not there, or ambiguous.
        TransientError: CLOUDSTACK_LIST_CUT: a list shows nothing of what is registered, and
            nobody denies that it is there.
        RackwrightError: As the client raises.
    """
    allowed = await allowed_commands(api)
    own = await read_own_account(api)
    places, problems = await read_places(api, wanted, await read_account(api, own, allowed))
    if places is None:
        raise ConflictError(ErrorCode.REGISTRATION_REFUSED, "; ".join(problems))
    found = await read_found(
        api,
        allowed,
        zone=places.zone,
        extension=wanted.extension.name,
        memory=memory,
        database=database,
    )
    await confirm_absence(api, found, memory)
    extension, cluster = extension_and_cluster(memory, found, database=database)
    wished = wishes(wanted, places, extension=extension, cluster=cluster)
    plan = make_plan(wished, found, memory, database=database, account=places.account)
    over = over_limits(plan, own)
    plan = replace(plan, refusals=(*plan.refusals, *over))
    ids = Ids(
        database=database,
        zone=places.zone,
        pod=places.pod,
        extension="" if extension == LATER else extension,
        cluster="" if cluster == LATER else cluster,
    )
    return Survey(wanted=wanted, places=places, found=found, memory=memory, ids=ids, plan=plan)
