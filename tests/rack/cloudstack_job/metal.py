"""The extension as a management server runs it: the real entry, with recorded payloads."""

import base64
import json
from dataclasses import replace

from cloudstack_ext.api_server.call import Reply
from cloudstack_ext.contract import DETAILS, Verb
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import lab_payload
from cloudstack_ext.management_server.by_hand import ByHand
from cloudstack_ext.management_server.wire import wire

WAIT_S = 1800


class Metal:
    """Implements ExtensionPort: a user's call of the API becomes calls of the entry.

    Attributes:
        instance: The one that was deployed last, with CloudStack's own id.
    """

    def __init__(self, site, folder):
        self._site = site
        self._hand = ByHand(entry=site.entry(), folder=folder)
        self.instance = None

    def perform(self, ask):
        if ask.action == "deploy":
            self.instance = self._named(ask.instance)
            prepared = self._verb(Verb.PREPARE)
            return self._verb(Verb.CREATE) if prepared.success else prepared
        if ask.action in set(Verb):
            return self._verb(Verb(ask.action))
        return self._reply(self._hand.call(ask.action, self._action(ask), ask.timeout_s))

    def _verb(self, verb):
        return self._reply(self._hand.call(verb.value, lab_payload(verb, self.instance), WAIT_S))

    def _reply(self, called):
        return Reply(success=not called.failure, output=called.failure or called.output)

    def _named(self, kept):
        lab = instance_of(
            kept.name,
            number=self._site.numbers.of(kept.name),
            image=kept.details["External:image"],
            ssh_key=kept.details["SSH.PublicKey"],
            user_data=base64.b64decode(kept.user_data or ""),
        )
        return replace(lab, uuid=kept.id, name=kept.internal_name)

    def _action(self, ask):
        """As recorded: the details of a start, without what a network's ConfigDrive adds."""
        body = json.loads(lab_payload(Verb.START, self.instance))
        for key in ("vmData", "configDriveLabel"):
            body[DETAILS].pop(key, None)
        body[DETAILS]["state"] = ask.instance.state.value
        return wire(body | {"action": ask.action, "parameters": dict(ask.parameters)})
