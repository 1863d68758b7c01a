"""`ApiServer`: the whole thing on a port of this machine."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Self

from cloudstack_ext.api_server.call import ExtensionPort
from cloudstack_ext.api_server.calls import Calls
from cloudstack_ext.api_server.dispatch import Dispatch
from cloudstack_ext.api_server.faults import Faults
from cloudstack_ext.api_server.global_settings import PATH_CHECK
from cloudstack_ext.api_server.installation import ROOT_ADMIN, Key, keys_of, new_installation
from cloudstack_ext.api_server.listener import PATH, Listener
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.api_server.state import State

_LOOK_S = 0.01
"""How long stopping waits for the listener to look up."""


class ApiServer:
    """A CloudStack API server with its state in memory.

    Start it by itself or as a context manager; several may run at once. Everything of it may be
    looked at and changed while it runs; `state` under `state.lock`.

        with ApiServer() as server:
            api = CloudStack(endpoint=server.endpoint, key=server.key.key, ...)

    Args:
        settings: Times, port, call log.
        state: Whatever is there from the beginning; None: a fresh installation.
        extension: Plays the extension of every host; None: all that it is asked succeeds.
        now: Seconds since 1970, for tests that let time pass.

    Attributes:
        state: All objects; tests set up and look.
        faults: What goes wrong; nothing at first.
        calls: What was called and how it ended.
    """

    def __init__(
        self,
        settings: ServerSettings | None = None,
        *,
        state: State | None = None,
        extension: ExtensionPort | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings or ServerSettings()
        self.state = state or new_installation(now())
        if state is None:
            interval = self.state.settings[PATH_CHECK]
            interval.value = f"{self.settings.path_check_s:g}"
        self.faults = Faults()
        self.calls = Calls(self.settings.calls)
        self._listener: Listener | None = None
        self._port = self.settings.port
        self._dispatch = Dispatch(
            state=self.state, settings=self.settings, now=now, extension=extension
        )

    @property
    def keys(self) -> Mapping[str, Key]:
        """By user: "admin" (root), "dadmin" (admin of domain acme), "alice" and "bob"."""
        with self.state.lock:
            return keys_of(self.state)

    @property
    def key(self) -> Key:
        """The root admin's."""
        return self.keys[ROOT_ADMIN]

    @property
    def endpoint(self) -> str:
        """Its URL, once it has been started; the same after `stop` and another `start`."""
        if not self._port:
            raise RuntimeError("the server has not been started")
        return f"http://{self.settings.address}:{self._port}{PATH}"

    def start(self) -> Self:
        """Listen; answers are given from threads of its own, from all that it knew before."""
        settings = replace(self.settings, port=self._port)
        self._listener = Listener(settings, self._dispatch, self.faults, self.calls)
        self._port = self._listener.server_address[1]
        thread = threading.Thread(
            target=self._listener.serve_forever, args=(_LOOK_S,), name="api-server", daemon=True
        )
        thread.start()
        return self

    def stop(self) -> None:
        """No more answers; whoever waits for one is cut off. Safe to repeat."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def __enter__(self) -> Self:
        """Started."""
        return self.start()

    def __exit__(self, *_error: object) -> None:
        """Stopped."""
        self.stop()
