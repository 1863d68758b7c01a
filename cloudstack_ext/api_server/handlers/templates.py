"""Templates."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler, Work
from cloudstack_ext.api_server.handlers.extensions import EXTERNAL
from cloudstack_ext.api_server.handlers.instances import named_account
from cloudstack_ext.api_server.limits import refuse_over
from cloudstack_ext.api_server.model.accounts import Account
from cloudstack_ext.api_server.model.catalogue import Template
from cloudstack_ext.api_server.permissions import may_see
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import (
    Wire,
    external,
    given,
    has_keyword,
    listing,
    matches,
    stamp,
)

_FORMAT = "EXTERNAL"
_FILTERS = ("featured", "self", "selfexecutable", "sharedexecutable", "executable", "community")
_ALL = "all"
_SHORT = (
    "id",
    "name",
    "displaytext",
    "ispublic",
    "format",
    "isfeatured",
    "crossZones",
    "ostypeid",
    "ostypename",
    "account",
    "templatetype",
    "hypervisor",
    "domain",
    "domainpath",
    "domainid",
    "details",
    "bits",
    "isdynamicallyscalable",
    "tags",
    "hasannotations",
)


def living_templates(call: Call) -> dict[str, Template]:
    """By id, without those that were deleted."""
    return {each.id: each for each in call.state.templates.values() if not each.removed}


def register(call: Call) -> Wire:
    """registerTemplate: ready at once; the same name twice is no matter; answers a list."""
    values = call.values
    if values.needed("hypervisor") != EXTERNAL or values.needed("format").upper() != _FORMAT:
        raise refusals.invalid("Only templates of hypervisor and format External are known here")
    extension = call.found_if_given("extensionid", call.state.extensions)
    zone = call.found_if_given("zoneid", call.state.zones)
    os_type = call.found_if_given("ostypeid", call.state.os_types)
    if extension is None or zone is None or os_type is None:
        raise refusals.invalid("extensionid, zoneid and ostypeid must be given here")
    account = call.state.accounts[call.caller.account]
    owned = [each for each in living_templates(call).values() if each.account == account.id]
    refuse_over(call, account, "template", used=len(owned), wanted=1)
    hvm = values.flag("requireshvm")
    template = Template(
        id=new_id(),
        name=values.needed("name"),
        display_text=values.text("displaytext") or values.needed("name"),
        account=account.id,
        zone=zone.id,
        os_type=os_type.id,
        url=values.needed("url"),
        created=call.now,
        arch=values.text("arch") or "x86_64",
        public=bool(values.flag("ispublic")),
        featured=bool(values.flag("isfeatured")) and call.root,
        requires_hvm=True if hvm is None else hvm,
        extension=extension.id,
        details={**(values.map("details") or {}), **external(values.map("externaldetails") or {})},
    )
    call.state.templates[template.id] = template
    return {"count": 1, "template": [_view(call, template)]}


def list_(call: Call) -> Wire:
    """listTemplates: what the filter says, of what the caller may use, or an account it names."""
    wanted = call.values.needed("templatefilter")
    if wanted == _ALL and not call.root:
        raise refusals.invalid("Filter all can be specified by root admin only")
    if wanted not in (_ALL, *_FILTERS):
        raise refusals.invalid("Please specify a valid template filter")
    call.found_if_given("id", living_templates(call))
    project = call.found_if_given("projectid", call.state.projects)
    named = call.state.accounts[project.account] if project else named_account(call)
    rows = [
        _view(call, each)
        for each in living_templates(call).values()
        if _passes(call, each, wanted, named) and _is_wanted(call, each)
    ]
    return listing("template", rows, call.values)


def update(call: Call) -> Wire:
    """updateTemplate: takes `details[0].External:key`; `externaldetails` is not one of its own."""
    template = call.found("id", living_templates(call))
    _own(call, template)
    values = call.values
    template.name = values.text("name") or template.name
    template.display_text = values.text("displaytext") or template.display_text
    details = values.map("details")
    if values.flag("cleanupdetails"):
        template.details = {}
    elif details is not None:
        template.details = details
    return {"template": _short_view(call, template)}


def update_permissions(call: Call) -> Wire:
    """updateTemplatePermissions: `op` is add, remove or reset, of `accounts`."""
    template = call.found("id", living_templates(call))
    _own(call, template)
    public, featured = call.values.flag("ispublic"), call.values.flag("isfeatured")
    template.public = template.public if public is None else public
    template.featured = template.featured if featured is None else featured
    accounts = call.values.words("accounts") or ()
    match call.values.text("op"):
        case "add":
            template.accounts = tuple(dict.fromkeys((*template.accounts, *accounts)))
        case "remove":
            template.accounts = tuple(each for each in template.accounts if each not in accounts)
        case "reset":
            template.accounts, template.public, template.featured = (), False, False
        case None:
            pass
        case _:
            raise refusals.invalid("Invalid operation, must be one of: add, remove, reset")
    return {"success": True}


def delete(call: Call) -> Work:
    """deleteTemplate: not while instances have it, unless forced."""
    template = call.found("id", living_templates(call))
    _own(call, template)

    def finish(_reply: object) -> Wire:
        users = [each for each in call.state.living() if each.template == template.id]
        if users and not call.values.flag("forced"):
            raise refusals.invalid(
                f"Unable to delete template with id {template.id} because VM instances are using it"
            )
        template.removed = True
        return {"success": True}

    return Work(finish=finish, kind="Template", entity=template.id)


def _own(call: Call, template: Template) -> None:
    if not may_see(call.state, call.caller, call.state.accounts[template.account]):
        raise refusals.not_permitted()


def _passes(call: Call, template: Template, wanted: str, named: Account | None) -> bool:
    whose = named or call.state.accounts[call.caller.account]
    own, shared = template.account == whose.id, whose.name in template.accounts
    match wanted:
        case "all":
            return True
        case "featured":
            return template.public and template.featured
        case "community":
            return template.public and not template.featured
        case "self" | "selfexecutable":
            return own
        case "sharedexecutable":
            return shared
        case _:
            return own or shared or template.public or (call.root and named is None)


def _is_wanted(call: Call, template: Template) -> bool:
    texts = {
        "id": template.id,
        "name": template.name,
        "zoneid": template.zone,
        "hypervisor": template.hypervisor,
        "extensionid": template.extension,
        "arch": template.arch,
    }
    ids = call.values.words("ids")
    return (
        matches(call.values, texts)
        and has_keyword(call.values, template.name)
        and (ids is None or template.id in ids)
    )


def _view(call: Call, template: Template) -> Wire:
    account = call.state.accounts[template.account]
    domain = call.state.domains[account.domain]
    extension = call.state.extensions.get(template.extension or "")
    owner = may_see(call.state, call.caller, account)
    return given(
        id=template.id,
        name=template.name,
        displaytext=template.display_text,
        ispublic=template.public,
        isready=True,
        passwordenabled=False,
        format=_FORMAT,
        isfeatured=template.featured,
        crossZones=False,
        ostypeid=template.os_type,
        ostypename=call.state.os_types[template.os_type].name,
        account=account.name,
        zoneid=template.zone,
        zonename=call.state.zones[template.zone].name,
        status="Active" if owner else None,
        templatetype="USER",
        hypervisor=template.hypervisor,
        domain=domain.name,
        domainpath=domain.path,
        domainid=domain.id,
        isextractable=False,
        details=dict(template.details),
        downloaddetails=[],
        arch=template.arch,
        bits=0,
        sshkeyenabled=False,
        isdynamicallyscalable=False,
        directdownload=False,
        deployasis=False,
        forcks=False,
        requireshvm=template.requires_hvm,
        url=template.url if owner else None,
        extensionid=template.extension,
        extensionname=extension.name if extension else None,
        tags=[],
        hasannotations=False,
    )


def _short_view(call: Call, template: Template) -> Wire:
    """As updateTemplate answers: never ready, and without the zone."""
    whole = _view(call, template)
    return {
        **{name: whole[name] for name in _SHORT},
        "created": stamp(template.created),
        "isready": False,
        "bootable": True,
    }


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "registerTemplate": register,
        "listTemplates": list_,
        "updateTemplate": update,
        "updateTemplatePermissions": update_permissions,
        "deleteTemplate": delete,
    }
)
