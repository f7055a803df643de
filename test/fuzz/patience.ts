/** How long both targets let clients hold a connection that do next to nothing. */
import { eventually } from "../harness/process.ts"
import { openPatient, SHAPE_NAMES } from "./patient.ts"
import { startTargets } from "./targets.ts"

/** Longer than any limit of either should be. */
const LONGEST_MILLIS = 120_000

/** Lines for people: the shape, and the seconds until each target closed. */
export const measurePatience = async (): Promise<ReadonlyArray<string>> => {
  const targets = await startTargets({ store: "memory", onLine: () => {} })
  const patients = (["gate", "platform"] as const).flatMap((to) =>
    SHAPE_NAMES.map((name) => ({ to, patient: openPatient(targets[to].port, name) })),
  )
  try {
    await eventually(
      "all are closed",
      () => patients.every(({ patient }) => patient.lasted() !== undefined),
      LONGEST_MILLIS,
    ).catch(() => {})
    return patients.map(({ patient, to }) => {
      const lasted = patient.lasted()
      const until = lasted === undefined ? "still open" : `${(lasted / 1_000).toFixed(1)} s`
      return `${to.padEnd(8)} ${patient.name.padEnd(34)} ${until}`
    })
  } finally {
    for (const { patient } of patients) patient.dispose()
    await targets.dispose()
  }
}
