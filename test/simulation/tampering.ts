/** How a fault is planted: scripts of the store that do something else. They live on the embedded store alone. */
import { Step } from "../../src/queue/step.ts"
import type { Reply, Script } from "../../src/Store.ts"
import type { MemoryDb } from "../../src/store/MemoryDb.ts"

type Body = Script["memory"]
type Change = (script: Script) => Script

/** Scripts that call the next, or look at who is late. */
const SCRIPTS = [
  ...["admit", "start", "bind", "alias", "fail", "resolve", "end", "leave", "withdraw", "sweep"],
  ...["touch", "attach"],
]

/** Replaces one script's body; `real` is what it replaces. */
export const replaced = (name: string, body: (real: Body) => Body): Change => {
  const made = new Map<Script, Script>()
  return (script) => {
    if (script.name !== name) return script
    const known = made.get(script) ?? { ...script, memory: body(script.memory) }
    made.set(script, known)
    return known
  }
}

/** Replaces one script of the queue by a body of its own. */
export const queue = (name: string, body: (step: Step, real: () => Reply) => Reply): Change =>
  replaced(`queue.${name}`, (real) => (db, keys, args) => body(new Step(db, keys, args), () => real(db, keys, args)))

/** A store that answers some of a script's commands differently. */
export const tampered = (name: string, change: (db: MemoryDb, step: Step) => Partial<MemoryDb>): Change =>
  replaced(`queue.${name}`, (real) => (db, keys, args) => {
    const changed = change(db, new Step(db, keys, args))
    const seen: MemoryDb = new Proxy(db, {
      get: (target, property) => {
        const value = Reflect.get(changed, property) ?? Reflect.get(target, property)
        return typeof value === "function" ? value.bind(target) : value
      },
    })
    return real(seen, keys, args)
  })

/** Tells the store another reason of a start that failed. */
export const failedAs = (was: string, becomes: string): Change =>
  replaced(
    "queue.fail",
    (real) => (db, keys, args) => real(db, keys, args.with(7, args[7] === was ? becomes : (args[7] ?? ""))),
  )

/** Changes every script of the queue alike. */
export const everywhere = (change: (name: string) => Change): Change => {
  const changes = SCRIPTS.map(change)
  return (script) => changes.reduce((made, each) => each(made), script)
}
