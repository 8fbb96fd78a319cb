#!/bin/sh
# Stands in for date +%s on a machine whose clock is years behind.
PATH=${PATH#*:}
echo $(($(date +%s) - CLOCK_BEHIND))
