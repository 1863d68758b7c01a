#!/bin/sh
# The power button, and a controller's graceful shutdown.
sync
exec /bin/poweroff
