/** Faults in how tokens are used. */
import { rerun, withCalls } from "../tampering.ts"
import type { Planted } from "../world.ts"

const rule = rerun<"identity.use">

const useOf = (call: object): string => ("use" in call ? String(call.use) : "")

export const tokenFaults: ReadonlyArray<Planted> = [
  {
    name: "a token is used twice",
    rule: rule("identity.use", () => (_db, _keys, _now, _context, calls) => calls.map(useOf)),
  },
  {
    name: "the last gate that uses a token has it",
    rule: rule(
      "identity.use",
      () =>
        (db, [key = ""], _now, _context, calls) =>
          calls.map((call) => {
            db.set(key, useOf(call), 86_400_000)
            return useOf(call)
          }),
    ),
  },
  {
    name: "the use of a token is forgotten after a second",
    rule: rule(
      "identity.use",
      withCalls((call) => ({ ...call, lifetime: 1_000 })),
    ),
  },
  {
    name: "all tokens are one",
    rule: rule(
      "identity.use",
      (real) => (db, _keys, now, context, calls) => real(db, ["vg:token:one"], now, context, calls),
    ),
  },
]
