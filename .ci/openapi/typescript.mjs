// Prints a program that calls every operation of a document through openapi-fetch and the types of openapi-typescript,
// and prints what it read, as JSON. The compiler checks that the types know each address and method.
import { readFileSync } from "node:fs";

const document = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(`import * as fs from "node:fs";
import createClient from "openapi-fetch";
import type { paths } from "./client.js";

const request = JSON.parse(fs.readFileSync(0, "utf8"));
const client = createClient<paths>({ baseUrl: request.url, headers: { Authorization: request.authorization } });
const operations: Record<string, (options: any) => Promise<{ data?: unknown; error?: unknown }>> = {`);
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const stream = operation.responses[200].content["text/event-stream"] ? `, parseAs: "text"` : "";
    console.log(`  ${operation.operationId}: (o) => client.${method.toUpperCase()}("${path}", { ...o${stream} }),`);
  }
}
console.log(`};
for (const { operation, params, inPath, body } of request.calls) {
  const path: any = {}, query: any = {};
  for (const name in params) (inPath.includes(name) ? path : query)[name] = params[name];
  const { data, error } = await operations[operation]!({ params: { path, query }, body });
  if (error) throw new Error(JSON.stringify(error));
  console.log(JSON.stringify(data));
}`);
