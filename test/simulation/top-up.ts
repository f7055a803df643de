/** An operator who adds to a budget, and repeats that until a gate has answered. */
import { Effect, Exit } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { addressOf } from "./callers.ts"
import type { Action } from "./plan.ts"
import { CAMPAIGN, PER_MINUTE } from "./settings.ts"
import type { World } from "./world.ts"

type TopUp = Extract<Action, { readonly kind: "topUp" }>

const AGAIN_MILLIS = 1_500

export const topUp = (world: World, { at, budget: index, caller, gate: preferred, seconds }: TopUp): void => {
  const { gates, kernel, plan, watch } = world
  const budget = plan.control.budgets?.budgets[index]
  const whose = plan.actions.find((action) => action.kind === "arrive" && action.id === caller)
  if (budget === undefined || whose?.kind !== "arrive") return
  const id = `top-up-${at}-${index}`
  const by = budget.Unit === "money" ? (seconds * PER_MINUTE) / 60 : seconds / 60
  const who = whose.token === undefined ? { address: addressOf(whose) } : { subject: whose.token.subject }
  let isRepeated = false
  world.pendingTopUps++
  const attempt = (tries: number): void => {
    const again = (): void => void kernel.after(AGAIN_MILLIS, () => attempt(tries + 1))
    const gate = gates[(preferred + tries) % gates.length]
    if (gate?.up !== true) {
      again()
      return
    }
    world.note(`an operator adds ${seconds} s to ${budget.Name} at ${gate.name}`)
    gate.ask(
      `${id} ${tries}`,
      Effect.gen(function* () {
        const internals = (yield* Gatekeeper).internals()
        const campaign = internals.campaigns.find(CAMPAIGN)
        if (campaign === undefined) return undefined
        const of = budget.Of === "caller" ? { caller: internals.callerKey(who) } : {}
        return yield* internals.budgets.adjust(campaign, budget.Name, { ...of, by, id }, { operator: "op", reason: "" })
      }),
      (exit) => {
        if (Exit.isFailure(exit) || exit.value === undefined) {
          again()
          return
        }
        world.pendingTopUps--
        watch.budgets?.toppedUp(id)
        // the answer may be lost on its way
        if (!isRepeated && world.chance(id, 2) === 0) {
          isRepeated = true
          world.pendingTopUps++
          again()
        }
      },
      again,
    )
  }
  attempt(0)
}
