// What programs in TypeScript do with answers that may be one of two things. It only has to compile.
import type { components } from "./client";

type Schemas = components["schemas"];

// readings returns how many readings windows have, or how many sensors have a newest value: a member that only one of
// the two has tells which it is.
export function readings(answer: Schemas["QueryAnswer"]): number {
  let n = 0;
  for (const row of answer.rows) {
    for (const sensor in row.sensors) n += row.sensors[sensor].count ?? 1;
  }
  return n;
}

// A value has no type, since most generators make nothing of a choice: typeof narrows it.
export function shown(row: Schemas["Row"], unit: string): string {
  if (row.value === null) return "none yet";
  return typeof row.value === "number" ? row.value.toFixed(1) + " " + unit : String(row.value).toLowerCase();
}

export function numbers(row: Schemas["Reading"]): number[] {
  return Object.values(row.values).filter((value) => typeof value === "number");
}
