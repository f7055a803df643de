/**
 * What one address and one network can take of a gate from others, under the defaults, and what it costs them: a Markdown table.
 *
 *     npm run build && node scripts/abuse.ts [--program dist/main.js]
 *
 * The built gate runs on loopback with a Redis and a platform of its own; addresses are simulated by `X-Forwarded-For`. It needs
 * redis-server, and ends by itself within three minutes.
 */
import { resolve } from "node:path"
import { parseArgs } from "node:util"
import { type Attack, address, keepFull, network, turns } from "./abuse/attacks.ts"

const { values } = parseArgs({ options: { program: { type: "string" } } })
const program = resolve(values.program ?? resolve(import.meta.dirname, "../dist/main.js"))

const attacks: ReadonlyArray<Attack> = [address, network, turns, keepFull]

console.log("| attack | what the attacker gets | what it costs him |\n|---|---|---|")
for (const attack of attacks) {
  for (const { cost, gets, name } of await attack(program)) console.log(`| ${name} | ${gets} | ${cost} |`)
}
