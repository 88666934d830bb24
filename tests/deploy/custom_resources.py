"""What the CSI-Addons operator takes: custom_resources.yaml, read and applied."""

import re
from pathlib import Path

import yaml

from objects import load

KNOWN = Path(__file__).with_suffix(".yaml")


def known():
    """{(apiVersion, kind): (scope, [lists of which one is needed], {path: (type, required, immutable)})}"""
    result = {}
    for version, kinds in yaml.safe_load(KNOWN.read_text()).items():
        for kind, told in kinds.items():
            fields = {}
            for path, text in told["fields"].items():
                kind_of_field, *words = text.split()
                assert set(words) <= {"required", "immutable"}, text
                fields[path] = (kind_of_field, "required" in words, "immutable" in words)
            result[version, kind] = (told["scope"], told.get("one_of", []), fields)
    return result


def fits(value, what):
    if what == "string":
        return isinstance(value, str) and value != ""
    if what == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if what == "boolean":
        return isinstance(value, bool)
    if what == "map":
        return isinstance(value, dict) and all(isinstance(word, str) for word in value.values())
    if what == "object":
        return isinstance(value, dict)
    if what == "strings":
        return isinstance(value, list) and all(isinstance(word, str) for word in value)
    if what == "objects":
        return isinstance(value, list) and all(isinstance(part, dict) for part in value)
    return value in what.split("|")


def complaints(thing):
    """What the operator's API would say of an object, one line each."""
    name = f"{thing['kind']} {thing['metadata']['name']}"
    told = known().get((thing["apiVersion"], thing["kind"]))
    if not told:
        return [f"{name}: not known"]
    scope, one_of, fields = told
    wrong = []
    if (scope == "Namespaced") != ("namespace" in thing["metadata"]):
        wrong.append(f"{name}: it is {scope}")
    for unknown in set(thing) - {"apiVersion", "kind", "metadata", "spec"}:
        wrong.append(f"{name}: {unknown} is not known")

    def look(value, above):
        here = {path[len(above):]: field for path, field in fields.items()
                if path.startswith(above) and not re.search(r"[.\[]", path[len(above):])}
        for field, (what, required, _) in here.items():
            if field not in value and required:
                wrong.append(f"{name}: {above}{field} is missing")
        for field, part in value.items():
            if field not in here:
                wrong.append(f"{name}: {above}{field} is not known")
                continue
            what = here[field][0]
            if not fits(part, what):
                wrong.append(f"{name}: {above}{field} is no {what}")
            elif what == "object":
                # ObjectMeta of a template is not listed field by field.
                if any(path.startswith(f"{above}{field}.") for path in fields):
                    look(part, f"{above}{field}.")
            elif what == "objects":
                for one in part:
                    look(one, f"{above}{field}[].")

    look(thing.get("spec", {}), "")
    for choice in one_of:
        if not any(field in thing.get("spec", {}) for field in choice):
            wrong.append(f"{name}: it needs one of {', '.join(choice)}")
    return wrong


def from_definitions(folder):
    """The same as known(), but one_of, read from CustomResourceDefinitions."""
    result = {}
    for path in sorted(Path(folder).rglob("*.yaml")):
        for definition in load(path.read_text()):
            if definition.get("kind") != "CustomResourceDefinition":
                continue
            spec = definition["spec"]
            [version] = [one for one in spec["versions"] if one["storage"]]
            fields = {}
            collect(version["schema"]["openAPIV3Schema"]["properties"]["spec"], "", fields)
            result[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = (spec["scope"], fields)
    return result


def collect(schema, above, fields):
    for name, field in schema.get("properties", {}).items():
        what = field["type"]
        inner = field.get("items", {})
        if "enum" in field:
            what = "|".join(field["enum"])
        elif what == "array":
            what = "objects" if inner["type"] == "object" else "strings"
        elif what == "object" and "additionalProperties" in field:
            what = "map"
        immutable = any(rule["rule"] == "self == oldSelf" for rule in field.get("x-kubernetes-validations", []))
        fields[above + name] = (what, name in schema.get("required", []), immutable)
        collect(field, f"{above}{name}.", fields)
        collect(inner, f"{above}{name}[].", fields)
