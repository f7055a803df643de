/**
 * Two scripts as one: the second runs for a call whose first reply begins with 1. Both must be scripts whose calls may be
 * joined. The keys of the one and the other have different hash tags, so that only a store whose scripts span several runs it
 * (`Store.spans`).
 */
import type { Script } from "../Store.ts"
import { list } from "./reply.ts"

type Joins = NonNullable<Script["joins"]>

const joinsOf = ({ joins, name }: Script): Joins => {
  if (joins === undefined) throw new TypeError(`the calls of ${name} cannot be joined`)
  return joins
}

/**
 * KEYS those of the first, then those of the second; ARGV likewise, as many as each takes. Reply of each call `[first's]`, or
 * `[first's, second's]` where the second ran.
 *
 * @param firstArgs how many arguments the first takes
 * @param secondArgs how many the second
 */
export const chain = (first: Script, firstArgs: number, second: Script, secondArgs: number): Script => {
  const [one, two] = [joinsOf(first), joinsOf(second)]
  if (one.ownKeys !== first.numberOfKeys || two.ownKeys !== 0) {
    throw new TypeError("the first script's keys are each call's own, the second's are shared")
  }
  const places = (joins: Joins): string => joins.own.map((place) => place + 1).join(", ")
  return {
    name: `${first.name}+${second.name}`,
    numberOfKeys: first.numberOfKeys + second.numberOfKeys,
    joins: {
      own: [...one.own, ...two.own.map((place) => firstArgs + place)],
      times: [...one.times, ...two.times.map((place) => firstArgs + place)],
      ownKeys: first.numberOfKeys,
    },
    lua: `-- voicegate ${first.name}+${second.name}
local function first(KEYS, ARGV)
${first.lua}
end
local function second(KEYS, ARGV)
${second.lua}
end
local calls = (#KEYS - ${second.numberOfKeys}) / ${first.numberOfKeys}
local own, others = {${places(one)}}, {${places(two)}}
local base, width = ${firstArgs + secondArgs}, #own + #others
local keys, args, shared = {}, {}, {}
for k = 1, calls * ${first.numberOfKeys} do keys[k] = KEYS[k] end
for a = 1, ${firstArgs} do args[a] = ARGV[a] end
for c = 2, calls do
  for o = 1, #own do args[#args + 1] = ARGV[base + (c - 2) * width + o] end
end
for k = 1, ${second.numberOfKeys} do shared[k] = KEYS[calls * ${first.numberOfKeys} + k] end
local replies, going, further = first(keys, args), {}, {}
for a = 1, ${secondArgs} do further[a] = ARGV[${firstArgs} + a] end
for c = 1, calls do
  if replies[c][1] == 1 then
    for o = 1, #others do
      local value
      if c == 1 then value = ARGV[${firstArgs} + others[o]] else value = ARGV[base + (c - 2) * width + #own + o] end
      if #going == 0 then further[others[o]] = value else further[#further + 1] = value end
    end
    going[#going + 1] = c
  end
  replies[c] = {replies[c]}
end
if #going > 0 then
  for n, reply in ipairs(second(shared, further)) do replies[going[n]][2] = reply end
end
return replies
`,
    memory: (db, keys, args) => {
      const reply = first.memory(db, keys.slice(0, first.numberOfKeys), args.slice(0, firstArgs))
      return list(reply)[0] === 1
        ? [reply, second.memory(db, keys.slice(first.numberOfKeys), args.slice(firstArgs))]
        : [reply]
    },
  }
}
