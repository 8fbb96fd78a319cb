// Calls every operation through a client that openapi-generator has made for fetch, and prints what it read, as JSON.
import * as fs from "node:fs";
import * as client from "./client/index.js";

const request = JSON.parse(fs.readFileSync(0, "utf8"));
const configuration = new client.Configuration({
  basePath: request.url,
  headers: { Authorization: request.authorization },
});
const of: any = client;
const lower = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);
for (const call of request.calls) {
  const api = new of[call.tag.charAt(0).toUpperCase() + call.tag.slice(1) + "Api"](configuration);
  if (call.params.day) call.params.day = new Date(call.params.day); // the format is date
  const value = await api[call.operation]({ ...call.params, body: call.body, [lower(call.takes ?? "body")]: call.body });
  const written = of[call.answers + "ToJSON"]; // from the names of the language to those of JSON
  console.log(JSON.stringify(written ? written(value) : value));
}
