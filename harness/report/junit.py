"""JUnit XML of a gate's result: one test case per rule and cell, for CI servers."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from harness.comparison.gate.gate_verdicts import GateResult, RuleVerdict
from harness.report.gate import describe

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(result: GateResult) -> str:
    """Return what a gate came to. A rule that cannot tell, and may not, is skipped."""
    suite = Xml.Element("testsuite", name=_clean(f"gate of {result.run}"))
    for verdict in result.verdicts:
        _add_case(suite, verdict)
    for fault in result.faults:
        case = Xml.SubElement(suite, "testcase", classname="gate", name="faults", time="0")
        Xml.SubElement(case, "error", type="faults", message=_clean(fault)).text = _clean(fault)
    if result.notes:
        Xml.SubElement(suite, "system-out").text = _clean("\n".join(result.notes))
    return _serialise(suite)


def not_judged_xml(run: str, error: str) -> str:
    """Return that a run could not be judged, and why."""
    suite = Xml.Element("testsuite", name=_clean(f"gate of {run}"))
    case = Xml.SubElement(suite, "testcase", classname="gate", name="not judged", time="0")
    first = error.split("\n", 1)[0]
    Xml.SubElement(case, "error", type="not judged", message=_clean(first)).text = _clean(error)
    return _serialise(suite)


def _add_case(suite: Xml.Element, verdict: RuleVerdict) -> None:
    names = {"classname": _clean(verdict.cell), "name": _clean(verdict.rule)}
    case = Xml.SubElement(suite, "testcase", names, time="0")
    message = _clean(describe(verdict))
    if verdict.failed:
        Xml.SubElement(case, "failure", type=verdict.outcome, message=message).text = message
    elif not verdict.measured:
        Xml.SubElement(case, "error", type=verdict.outcome, message=message).text = message
    elif verdict.outcome == "cannot tell":
        Xml.SubElement(case, "skipped", message=f"cannot tell: {message}")
    if verdict.measured and not verdict.failed:
        Xml.SubElement(case, "system-out").text = message


def _serialise(suite: Xml.Element) -> str:
    counted = {"tests": "testcase", "failures": ".//failure", "errors": ".//error"}
    counts = {key: str(len(suite.findall(path))) for key, path in counted.items()}
    suite.attrib |= counts | {"skipped": str(len(suite.findall(".//skipped"))), "time": "0"}
    whole = Xml.Element("testsuites", counts | {"name": "harness gate", "time": "0"})
    whole.append(suite)
    Xml.indent(whole)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(whole, "unicode") + "\n"


def _clean(text: str) -> str:
    """Return a text without what no XML may hold."""
    return _NOT_XML.sub("\ufffd", text)
