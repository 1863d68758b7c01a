"""The configuration of the blob server: images, kernel and ramdisk, and nothing else."""

import re
from dataclasses import dataclass
from pathlib import Path

from provisioner.errors import ErrorCode, InputError

_PLAIN = re.compile(r"[A-Za-z0-9_./:@+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobServer:
    """Where blobs lie and where they are served.

    Attributes:
        address: Of the provisioning network; nothing listens elsewhere.
        blobs: Folder that becomes /blobs/.
        run: Folder for the pid file and nginx's temporary folders; nginx can write it.
        logs: Folder for the two logs.
        user: Whose rights the worker has; it must be able to read `blobs`.
    """

    address: str
    port: int
    blobs: Path
    run: Path
    logs: Path
    user: str


def configuration(server: BlobServer) -> str:
    """The whole text of nginx.conf; nginx stays in the foreground, for its unit or the lab.

    A request with several ranges is answered with the whole file: an agent asks for one.

    Raises:
        InputError: CONFIG_INVALID: a path or name that nginx would read as syntax.
    """
    blobs, run, logs = (_plain(str(path)) for path in (server.blobs, server.run, server.logs))
    return f"""# Written by rackwright; changes are lost.
user {_plain(server.user)};
worker_processes 1;
daemon off;
pid {run}/nginx.pid;
error_log {logs}/nginx-error.log;
events {{ worker_connections 256; }}
http {{
  access_log {logs}/nginx.log combined;
  client_body_temp_path {run}/nginx-body;
  proxy_temp_path {run}/nginx-proxy;
  fastcgi_temp_path {run}/nginx-fastcgi;
  uwsgi_temp_path {run}/nginx-uwsgi;
  scgi_temp_path {run}/nginx-scgi;
  client_max_body_size 1k;
  server_tokens off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 30s;
  types {{ }}
  default_type application/octet-stream;
  server {{
    listen {_plain(server.address)}:{server.port};
    location / {{ return 404; }}
    location /blobs/ {{
      alias {blobs}/;
      limit_except GET {{ deny all; }}
      max_ranges 1;
    }}
  }}
}}
"""


def _plain(value: str) -> str:
    if not _PLAIN.fullmatch(value):
        raise InputError(
            ErrorCode.CONFIG_INVALID, f"{value!r} cannot stand in the blob server's configuration"
        )
    return value
