// Validates Kubernetes objects against the API's own schemas, as the typed models of a
// package carry them: node schema.mjs NODE_MODULES < objects.json. Prints what is wrong.
//
// Those validators let unknown fields pass, which a server drops without a word. They read
// each field that they know, so a field that nobody has read is unknown.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(process.argv[2] + "/");
const models = (apiVersion) =>
  require((apiVersion.startsWith("monitoring.coreos.com/")
    ? "@kubernetes-models/prometheus-operator/"
    : "kubernetes-models/") + apiVersion);

function watched(value, unread, path) {
  if (value === null || typeof value !== "object") return value;
  for (const name of Object.keys(value)) unread.add(`${path}.${name}`);
  return new Proxy(value, {
    get(target, name) {
      if (typeof name === "string") unread.delete(`${path}.${name}`);
      const field = target[name];
      return typeof name === "string" && Object.hasOwn(target, name) && name !== "length"
        ? watched(field, unread, `${path}.${name}`)
        : field;
    },
  });
}

let wrong = 0;
for (const object of JSON.parse(readFileSync(0, "utf8"))) {
  const title = `${object.kind} ${object.metadata?.name}`;
  const unread = new Set();
  try {
    const Model = models(object.apiVersion)[object.kind];
    if (Model === undefined) throw new Error(`there is no ${object.kind} in ${object.apiVersion}`);
    new Model(object).validate();
    // The model above copied it; the schema itself sees the fields being read.
    const { validate } = require(schemaOf(object));
    validate(watched(object, unread, ""));
  } catch (error) {
    console.log(`${title}: ${error.message}`);
    wrong++;
  }
  for (const field of unread) {
    console.log(`${title}: nobody reads ${field}`);
    wrong++;
  }
}
process.exit(wrong ? 1 : 0);

function schemaOf({ apiVersion, kind }) {
  const capital = (word) => word[0].toUpperCase() + word.slice(1);
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["core", apiVersion];
  if (group === "monitoring.coreos.com") {
    return `${process.argv[2]}/@kubernetes-models/prometheus-operator/_schemas/MonitoringCoreosCom${capital(version)}${kind}.js`;
  }
  return `${process.argv[2]}/kubernetes-models/_schemas/IoK8sApi${capital(group.split(".")[0])}${capital(version)}${kind}.js`;
}
