// What programs in TypeScript do with answers that may be one of two things. It only has to compile.
import type { components } from "./client";

type Schemas = components["schemas"];

// readings returns how many readings windows have, or how many sensors have a newest value.
export function readings(answer: Schemas["QueryAnswer"]): number {
  let n = 0;
  if ("window" in answer) {
    for (const row of answer.rows) for (const sensor in row.sensors) n += row.sensors[sensor].count;
  } else {
    for (const row of answer.rows) n += Object.keys(row.sensors).length;
  }
  return n;
}

export function shown(row: Schemas["Row"], unit: string): string {
  if (row.value === null) return "none yet";
  return typeof row.value === "number" ? row.value.toFixed(1) + " " + unit : row.value.toLowerCase();
}

export function numbers(row: Schemas["Reading"]): number[] {
  return Object.keys(row.values).flatMap((sensor) => {
    const value = row.values[sensor];
    return typeof value === "number" ? [value] : [];
  });
}
