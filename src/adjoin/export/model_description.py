"""``modelDescription.xml`` of FMI 2.0 and 3.0, for co-simulation with a fixed step.

Receives variables; gives XML, in which every text of a user is an attribute that the writer of XML
escapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from adjoin.export.variables import Variable
from adjoin.version import __version__


def describe_fmu(
    version: int,
    name: str,
    token: str,
    description: str,
    step: float,
    variables: Sequence[Variable],
    sources: Sequence[str],
    is_direct: bool,
) -> bytes:
    """The model description.

    Parameters
    ----------
    version : int
        2 or 3, of the standard.
    name : str
        The model's, and of its files.
    token : str
        By which a binary knows that it belongs to this description.
    description : str
        What the model is, for people.
    step : float
        Seconds between two samples.
    variables : sequence of Variable
        In the order of their numbers.
    sources : sequence of str
        What is to be compiled.
    is_direct : bool
        Whether the output depends on the inputs of the same sample.
    """
    root = Element(
        "fmiModelDescription",
        {
            "fmiVersion": f"{version}.0",
            "modelName": name,
            "guid" if version == 2 else "instantiationToken": token,
            "description": plain_attribute(description),
            "generationTool": f"adjoin {__version__}",
            "variableNamingConvention": "flat",
        },
    )
    simulation = SubElement(root, "CoSimulation", {"modelIdentifier": name})
    yes = "true"
    if version == 2:
        simulation.set("canHandleVariableCommunicationStepSize", "false")
        simulation.set("canNotUseMemoryManagementFunctions", yes)
        simulation.set("canGetAndSetFMUstate", yes)
        simulation.set("canSerializeFMUstate", yes)
        files = SubElement(simulation, "SourceFiles")
        for source in sources:
            SubElement(files, "File", {"name": source})
    else:
        simulation.set("canGetAndSetFMUState", yes)
        simulation.set("canSerializeFMUState", yes)
        simulation.set("canHandleVariableCommunicationStepSize", "false")
        simulation.set("fixedInternalStepSize", repr(step))
    _add_units(root, [v.unit for v in variables if version == 3 or v.causality != "independent"])
    categories = SubElement(root, "LogCategories")
    SubElement(categories, "Category", {"name": "logStatusError"})
    SubElement(root, "DefaultExperiment", {"startTime": "0.0", "stepSize": repr(step)})
    listed = SubElement(root, "ModelVariables")
    for number, variable in enumerate(variables):
        if version == 3:
            _add_variable_3(listed, number, variable)
        elif variable.causality != "independent":  # whose values the importing tool has
            _add_variable_2(listed, number, variable)
    _add_structure(SubElement(root, "ModelStructure"), version, variables, is_direct)
    return write_xml(root)


def write_xml(root: Element) -> bytes:
    """Indented XML with its declaration."""
    ElementTree.indent(root)
    body = ElementTree.tostring(root, "unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'.encode()


def plain_attribute(text: str) -> str:
    """A text on one line, without characters that XML cannot hold."""
    kept = (c if c.isprintable() and not "\ud800" <= c <= "\udfff" else " " for c in text)
    return " ".join("".join(kept).split())


def _add_units(root: Element, units: Sequence[str]) -> None:
    known = dict.fromkeys(filter(None, map(plain_attribute, units)))
    if known:
        listed = SubElement(root, "UnitDefinitions")
        for unit in known:
            SubElement(listed, "Unit", {"name": unit})


def _common(number: int, variable: Variable) -> dict[str, str]:
    found = {
        "name": variable.name,
        "valueReference": str(number),
        "description": plain_attribute(variable.description),
        "causality": variable.causality,
    }
    if variable.causality == "parameter":
        found |= {"variability": "fixed", "initial": "exact"}
    elif variable.causality == "output":
        found |= {"variability": "discrete", "initial": "calculated"}
    elif variable.causality == "input":
        found["variability"] = "discrete"
    return found


def _values(variable: Variable) -> dict[str, str]:
    unit = plain_attribute(variable.unit)
    found = {"unit": unit} if unit else {}
    if variable.start is not None:
        found["start"] = repr(variable.start)
    return found


def _add_variable_2(listed: Element, number: int, variable: Variable) -> None:
    scalar = SubElement(listed, "ScalarVariable", _common(number, variable))
    SubElement(scalar, "Real", _values(variable))


def _add_variable_3(listed: Element, number: int, variable: Variable) -> None:
    attributes = _common(number, variable)
    if variable.causality == "independent":
        attributes["variability"] = "continuous"
    SubElement(listed, "Float64", attributes | _values(variable))


def _add_structure(
    structure: Element, version: int, variables: Sequence[Variable], is_direct: bool
) -> None:
    """Which outputs there are, and on which inputs they depend at once."""
    inputs = [i for i, v in enumerate(variables) if v.causality == "input" and is_direct]
    start = [i for i, v in enumerate(variables) if v.causality == "parameter"]
    outputs = [i for i, v in enumerate(variables) if v.causality == "output"]
    if version == 2:  # by the place of a variable, counted from 1, and in two lists
        for tag, known in (("Outputs", inputs), ("InitialUnknowns", [*inputs, *start])):
            listed = SubElement(structure, tag)
            for i in outputs:
                dependencies = " ".join(str(j + 1) for j in known)
                SubElement(listed, "Unknown", {"index": str(i + 1), "dependencies": dependencies})
        return
    for tag, known in (("Output", inputs), ("InitialUnknown", [*inputs, *start])):
        for i in outputs:
            dependencies = " ".join(map(str, known))
            SubElement(structure, tag, {"valueReference": str(i), "dependencies": dependencies})


def build_description(name: str, sources: Sequence[str]) -> bytes:
    """``buildDescription.xml`` of FMI 3.0: what is to be compiled."""
    root = Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    configuration = SubElement(root, "BuildConfiguration", {"modelIdentifier": name})
    files = SubElement(configuration, "SourceFileSet", {"language": "C99"})
    for source in sources:
        SubElement(files, "SourceFile", {"name": source})
    return write_xml(root)
