#!/bin/bash
# A broker that is started by this name has the image's defaults, too.
exec /usr/bin/broker-lite container kafka-server-start "$@"
