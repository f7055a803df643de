/** Faults in what the campaigns of an account share. */
import type { Account } from "../../../src/fifo-queue/rules/shared/step.ts"
import { asked, everywhere, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

/** Every rule sees the account in another way. */
const seenAs = (change: (account: Account) => Account) =>
  everywhere((name) =>
    asked(name, ({ context }) =>
      context.account === undefined ? {} : { context: { ...context, account: change(context.account) } },
    ),
  )

export const accountFaults: ReadonlyArray<Planted> = [
  { name: "the cap of an account is ignored", rule: seenAs((account) => ({ ...account, cap: 100 })) },
  {
    name: "what an account reserves for another campaign is ignored",
    rule: seenAs((account) => ({ ...account, reserved: {} })),
  },
  {
    name: "an account is not told that a call has ended",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        hdel: (key, field) => {
          if (key !== s.keys.account) db.hdel(key, field)
        },
      })),
    ),
  },
  {
    name: "a slot goes to the campaign that looks first, whoever waits longer",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        // nobody seems to wait in the other campaign
        hgetall: (key) => db.hgetall(key).map((text) => (key === s.keys.account ? text.replace(/ \d+ /, " 0 ") : text)),
      })),
    ),
  },
]
