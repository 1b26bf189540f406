"""Surroundings of the engines' processes, set before any of them starts."""

import os

# Java programs of seconds: what compiles them best for hours takes more processor time than they do
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
