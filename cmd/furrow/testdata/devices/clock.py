"""Runs a program of CPython with its clock set back by years. OpenSSL does not use it."""

import os
import runpy
import sys
import time

now = time.time
time.time = lambda: now() - int(os.environ["CLOCK_BEHIND"])
runpy.run_path(sys.argv[1])
