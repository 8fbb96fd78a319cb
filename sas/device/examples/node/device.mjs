// A device that takes a reading now and then and stores it with Furrow. It has no dependencies.
//
//	node device.mjs
//
// It reads device.conf, and keeps what is not stored yet in readings.txt, so that a restart loses nothing.

import { createHmac, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import * as http from "node:http";
import * as https from "node:https";

const LIMIT = 1000; // readings kept while nothing can be sent; above it the oldest are dropped
const TIMEOUT = 10_000; // milliseconds to wait for a response
const LONGEST = 300; // seconds between two attempts, at most
const ZERO = -62_135_596_800_000; // 0001-01-01 in Date's milliseconds

const conf = Object.fromEntries(
  fs.readFileSync("device.conf", "utf8").split(/\r?\n/).map((line) => line.match(/^(\w+)=(.*)$/)).filter(Boolean).map((m) => [m[1], m[2]]),
);
const trusted = conf.ca && fs.readFileSync(conf.ca);
const agents = { "http:": new http.Agent({ keepAlive: true }), "https:": new https.Agent({ keepAlive: true, ca: trusted }) };

// readSensors returns the values of one reading. Put your sensors here.
const readSensors = () => ({ temperature: 20 + Math.round(Math.random() * 400) / 100 });

// isUrgent says which readings the workers have to look at in their next run, and not only when they expect one.
const isUrgent = ({ temperature }) => temperature > 60;

// A clock that nobody can set: ticks of 100 ns, as BigInt because a number has 53 bits.
const uptime = () => process.hrtime.bigint() / 100n;

let zero = null; // the server's time when the uptime was 0, once it is known
const unixTime = () => (zero === null ? Math.floor(Date.now() / 1000) : Number((zero + uptime()) / 10_000_000n) + ZERO / 1000);
const ticksOf = (text) => BigInt(Date.parse(text) - ZERO) * 10_000n;

// The readings that are not stored yet, oldest first, as lines "ROWKEY JSON". A row key is the
// identity of a reading: storage refuses a second row with the same key, so that sending a reading
// again is harmless. It must never change once it may have been sent. Before the time is known, a
// line starts with + and the uptime instead.
let lines = [];
const boot = randomBytes(4).toString("hex");
let number = 0;
let [urgent, rung] = [0, 0]; // urgent readings taken, and how many of them the endpoint has heard of
let hurry = () => {}; // ends a pause

const keyOf = (line) => line.split(" ", 1)[0];

function writeDown(path, text, flag) {
  const file = fs.openSync(path, flag);
  try {
    fs.writeFileSync(file, text); // all of it, or an error: on a full disk, writeSync writes a part
    fs.fsyncSync(file);
  } finally {
    fs.closeSync(file);
  }
}

// save replaces the file: a power cut leaves the old one or the new one.
function save() {
  writeDown("readings.new", lines.map((line) => line + "\n").join(""), "w");
  fs.renameSync("readings.new", "readings.txt");
}

function load() {
  const text = fs.existsSync("readings.txt") ? fs.readFileSync("readings.txt", "utf8") : "";
  lines = text.split("\n").slice(0, -1); // what follows the last line break was cut off
  const lost = lines.filter((line) => line.startsWith("+"));
  remove(lost, "dropped", "its boot ended before the time was known");
}

function remove(some, ...why) {
  for (const line of some) console.log(why[0], keyOf(line), ...why.slice(1));
  lines = lines.filter((line) => !some.includes(line));
  save();
}

function takeReading() {
  if (lines.length >= LIMIT) remove(lines.slice(0, LIMIT / 10), "dropped", "the buffer is full"); // several, to spare the flash
  const name = `${boot}.${++number}`;
  const at = zero === null ? `+${uptime()}` : String(zero + uptime()).padStart(19, "0");
  const values = readSensors();
  const line = `${at}-${name} ${JSON.stringify(values)}`;
  writeDown("readings.txt", line + "\n", "a");
  lines.push(line);
  console.log("kept", name);
  if (isUrgent(values)) {
    urgent++;
    hurry();
  }
}

// learnTime gives the readings of this boot their keys. They are on disk before any is sent.
function learnTime(server, at) {
  zero = ticksOf(server) - at;
  lines = lines.map((line) => {
    if (!line.startsWith("+")) return line;
    const [up, ...rest] = line.slice(1).split("-");
    return [String(zero + BigInt(up)).padStart(19, "0"), ...rest].join("-");
  });
  save();
}

class Refused extends Error {
  constructor(text, wait) {
    super(text);
    this.wait = wait; // seconds that the server asks for
  }
}

function post(url, headers, body = "") {
  const to = new URL(url);
  return new Promise((resolve, reject) => {
    const request = (to.protocol === "https:" ? https : http).request(to, { method: "POST", headers, agent: agents[to.protocol] });
    request.setTimeout(TIMEOUT, () => request.destroy(new Error("no response in time")));
    request.on("error", reject);
    request.on("response", (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part)).on("error", reject);
      response.on("end", () => {
        const wait = Math.min(parseInt(response.headers["retry-after"]) || 0, 3600);
        resolve({ status: response.statusCode, wait, text: Buffer.concat(parts).toString() });
      });
    });
    request.end(body);
  });
}

// prove returns the Authorization header. The key itself never leaves the device.
function prove() {
  const resource = encodeURIComponent(`${conf.enrollment}/registrations/${conf.device}`);
  const expiry = Math.max(unixTime(), 0) + 600;
  const signature = createHmac("sha256", Buffer.from(conf.key, "base64")).update(`${resource}\n${expiry}`).digest("base64");
  return `SharedAccessSignature sr=${resource}&sig=${encodeURIComponent(signature)}&se=${expiry}`;
}

let token = null;

async function getToken(body = "", again = true) {
  const sent = uptime();
  const response = await post(`${conf.endpoint}/v1/devices/${conf.device}/token`, { Authorization: prove() }, body);
  const received = uptime();
  let answer = {};
  try {
    answer = JSON.parse(response.text) ?? {};
  } catch {} // from a proxy
  const wrongTime = ["proof-expired", "proof-too-long"].includes(answer.code);
  if (response.status === 200 || wrongTime) learnTime(answer.serverTime, (sent + received) / 2n);
  if (wrongTime && again) return getToken(body, false); // its proof uses the server's time
  if (response.status !== 200) throw new Refused(`no token: ${response.status} ${answer.code}`, response.wait);
  const renew = ticksOf(answer.renewAfter) - zero;
  const end = ticksOf(answer.expires) - zero;
  // A random time, so that a fleet that booted together does not renew together.
  token = { ...answer, end, renew: renew + ((end - renew) * BigInt(Math.floor(Math.random() * 1024))) / 2048n };
  console.log("token until", answer.expires);
}

// insert inserts rows, several of them in one transaction, and returns the response.
async function insert(some) {
  const rows = some.map((line) =>
    JSON.stringify({ PartitionKey: token.partitionKey, RowKey: keyOf(line), ...JSON.parse(line.slice(keyOf(line).length)) }),
  );
  const row = { "Content-Type": "application/json", Accept: "application/json;odata=minimalmetadata", Prefer: "return-no-content", DataServiceVersion: "3.0" };
  if (rows.length === 1) return post(`${token.url}?${token.sas}`, row, rows[0]);
  const part = ["--changeset_a", "Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
    `POST ${token.url} HTTP/1.1`, ...Object.entries(row).map(([name, value]) => `${name}: ${value}`), ""];
  const body = ["--batch_a", "Content-Type: multipart/mixed; boundary=changeset_a", "",
    ...rows.flatMap((text) => [...part, text]), "--changeset_a--", "--batch_a--", ""].join("\r\n");
  const response = await post(token.url.replace(/[^/]*$/, "$$batch") + "?" + token.sas,
    { "Content-Type": "multipart/mixed; boundary=batch_a", DataServiceVersion: "3.0" }, body);
  if (response.status === 202) response.status = parseInt(response.text.split("HTTP/1.1 ")[1]) || 0; // the real one is inside
  return response;
}

let [fails, refusals, singly] = [0, 0, 0];

// deliver sends the oldest readings.
async function deliver() {
  let some = lines.slice(0, singly > 0 ? 1 : Math.min(token.batch, 100));
  const outside = some.findIndex((line) => keyOf(line) < token.earliestRowKey || keyOf(line) > token.latestRowKey);
  if (outside === 0) return remove(some.slice(0, 1), "dropped", "the token does not admit its time");
  if (outside > 0) some = some.slice(0, outside);
  const { status, wait, text } = await insert(some);
  const [one, own] = [some.length === 1, text.includes('"odata.error"')]; // else a proxy refuses, and knows no row
  if (status === 201 || status === 204 || (status === 409 && one && own)) { // 409: an earlier attempt stored it
    remove(some, "stored");
    [fails, refusals, singly] = [0, 0, Math.max(singly - some.length, 0)];
  } else if ([400, 409, 413].includes(status) && !one) {
    singly = some.length; // one row is why: find it
  } else if ((status === 400 && own) || status === 413) {
    remove(some, "dropped", `storage refuses it: ${status}`);
  } else {
    const denied = [401, 403, 404].includes(status); // this device or another of its cohort was revoked
    if (denied) token = null;
    if (!denied || refusals++ > 0) throw new Refused(`not stored: ${status}`, wait);
  }
}

// ring has the next run look at this device. What is urgent has been stored.
async function ring() {
  const heard = urgent;
  await getToken('{"ring":true}');
  rung = heard;
  fails = 0;
}

// step does what is due, and returns the seconds until the next attempt.
async function step() {
  try {
    if (token === null || uptime() > token.renew) {
      await getToken().catch((error) => {
        if (token === null || uptime() > token.end) throw error;
        token.renew = uptime() + 600_000_000n; // the old one is good for a while
      });
    }
    if (lines.length > 0) await deliver();
    if (lines.length > 0 || token === null) return 0;
    if (urgent > rung) await ring();
    return lines.length > 0 ? 0 : token.sendEvery;
  } catch (error) {
    console.log("failed", error.message);
    // A random part keeps devices that failed together from coming back together. A device that is
    // revoked asks less and less, and sends what it kept once it is restored.
    return (error.wait ?? 0) + Math.min(2 ** fails++, LONGEST) * (0.5 + Math.random() / 2);
  }
}

load();
takeReading();
setInterval(takeReading, Number(conf.every ?? 60) * 1000);
for (;;) {
  const pause = await step();
  await new Promise((resolve) => {
    setTimeout(resolve, pause * 1000);
    hurry = fails === 0 ? resolve : () => {}; // after a failure it waits all the same
  });
}
