/**
 * Measures what one address and one network can take from others under the default settings, and the
 * attacker's cost. Prints a Markdown table.
 *
 *     npm run build && npm run verify -- abuse [--program dist/main.js]
 *
 * The built gate runs on loopback with its own Redis and platform; addresses are simulated by `X-Forwarded-For`. It needs
 * redis-server, and takes at most three minutes.
 */
import { resolve } from "node:path"
import { parseArgs } from "node:util"
import { type Attack, address, keepFull, network, turns } from "./attacks.ts"

const { values } = parseArgs({ options: { program: { type: "string" } } })
const program = resolve(values.program ?? resolve(import.meta.dirname, "../../dist/main.js"))

const attacks: ReadonlyArray<Attack> = [address, network, turns, keepFull]

console.log("| attack | what the attacker gets | what it costs |\n|---|---|---|")
for (const attack of attacks) {
  for (const { cost, gets, name } of await attack(program)) console.log(`| ${name} | ${gets} | ${cost} |`)
}
