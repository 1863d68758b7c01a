"""A site on fakes whose CloudStack is asked: an API server at which everything is registered."""

from dataclasses import replace

from cs import CloudStack

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import lab_payload
from tests.unit.cloudstack_ext.api_server.registered import register

SITE = "lab"


class Asked:
    """A site that asks an API server, at which everything is registered."""

    def __init__(self, site, server):
        self.site, self.server = site, server
        key = server.key
        self.api = CloudStack(
            server.endpoint, key=key.key, secret=key.secret.reveal(), method="post", timeout=5
        )
        self.made = register(self.api)
        (self.network,) = server.state.networks
        self._remember("extension", "rackwright", self.made.extension)
        self._remember("host", "rackwright-a", self.made.host, pool="a")
        self._remember("template", "ubuntu", self.made.template, image="tiny")
        self._remember("offering", "large", self.made.offering, pool="a")
        body = {"endpoint": server.endpoint, "key": key.key, "secret": key.secret.reveal()}
        site.client.ask("PUT", f"/v1/sites/{SITE}/key", body)

    def deploy(self, name, **more):
        return self.api.deployVirtualMachine(
            zoneid=self.made.zone,
            templateid=more.pop("template", self.made.template),
            serviceofferingid=more.pop("offering", self.made.offering),
            networkids=self.network,
            name=name,
            startvm=False,
            **more,
        )["id"]

    def call(self, verb, instance, image="tiny", wait=60):
        """As the management server does for this very instance."""
        named = replace(instance_of("trainer", image=image), uuid=instance)
        return self.site.send(verb, lab_payload(Verb(verb), named), wait)

    def until_listed(self):
        """The reconcile loop has read, whole, what the API shows from now on."""

        def rounds():
            return len(self.server.calls.named("listExtensions"))

        most = rounds() + 2
        self.site.until(lambda: rounds() >= most, "a whole round", 30.0)

    def _remember(self, kind, name, outside_id, **facts):
        body = {"site": SITE, "kind": kind, "name": name, "facts": facts}
        number = self.site.client.ask("POST", "/v1/registered", body)["row"]["number"]
        told = {"outside_id": outside_id, "facts": facts}
        self.site.client.ask("PUT", f"/v1/registered/{number}", told)
