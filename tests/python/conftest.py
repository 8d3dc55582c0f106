"""Shared set-up: the reference beside the case files is importable, hypothesis prints its seed."""

import os
import sys

import hypothesis

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "data", "cases"))

# No deadline: times are never asserted. The blob reproduces a failure on any machine.
hypothesis.settings.register_profile("dgrad", deadline=None, print_blob=True)
hypothesis.settings.load_profile("dgrad")
