/** Load by wrk, with one thread and 64 connections, and its CPU cost for the server's processes. */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"

/** Every field that a widget may send. */
const body = JSON.stringify({
  regionId: "eu",
  transportType: 0,
  clientIdentifier: "shop-42",
  dynamicVariables: { firstName: "Ada", plan: "pro", locale: "en-GB" },
  metadata: {},
  audioConfiguration: {
    inputEncodingType: 1,
    inputSampleRate: 16_000,
    inputBitsPerSample: 16,
    outputEncodingType: 1,
    outputSampleRate: 24_000,
    outputBitsPerSample: 16,
  },
})

/** Reads the tokens of callers, one a line. */
const TOKENS = `local tokens = {}
for line in io.lines(os.getenv("TOKENS")) do tokens[#tokens + 1] = line end`

/**
 * The request of a page's widget through a proxy; `caller` is Lua for the caller's address. With `signed` each has a token. The text is built
 * once, because wrk's own cost is not to be measured.
 */
const requests = (caller: string, signed = false): string => `
${signed ? TOKENS : ""}
local body, n, before, after = '${body}', tonumber(os.getenv("FIRST"))
function init()
  local whole = wrk.format("POST", "/api/session/request", {
    ["Content-Type"] = "application/json",
    ["Origin"] = "https://shop.example",
    ["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36",
    ["Accept"] = "*/*",
    ["Accept-Language"] = "en-GB,en;q=0.9",
    ["X-Forwarded-For"] = "{caller}",
    ${signed ? '["Authorization"] = "Bearer {token}",' : ""}
  }, body)
  local from, to = whole:find("{caller}", 1, true)
  before, after = whole:sub(1, from - 1), whole:sub(to + 1)
end
function request()
  n = n + 1
  local whole = before .. ${caller} .. after
  return ${signed ? 'whole:gsub("{token}", tokens[n % #tokens + 1], 1)' : "whole"}
end
function done(summary, latency)
  io.write(string.format("p50=%d p99=%d errors=%d\\n", latency:percentile(50), latency:percentile(99),
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end`

const ANOTHER =
  'string.format("%d.%d.%d.%d", 11 + math.floor(n / 16777216), math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)'

/**
 * The callers: a different address every time, so that all are queued, or a few addresses beyond their limits. `signed`: as `queue`, each with a
 * token.
 */
export const modes = {
  queue: requests(ANOTHER),
  signed: requests(ANOTHER, true),
  flood: requests("'198.51.100.' .. n % 8"),
} as const
export type Mode = keyof typeof modes

export interface Measured {
  readonly perSecond: number
  /** CPU of the server's processes per request */
  readonly micros: number
  /** CPU of the store per request */
  readonly storeMicros: number
  readonly p50Micros: number
  readonly p99Micros: number
  /** answers outside 2xx */
  readonly refused: number
  readonly answered: number
}

/** The mean of a figure of several turns. */
export const mean = (turns: ReadonlyArray<Measured>, pick: (measured: Measured) => number): number =>
  turns.reduce((sum, each) => sum + pick(each), 0) / turns.length

/** CPU time of processes so far, in clock ticks of 10 ms. */
const ticksOf = (pids: ReadonlyArray<number>): number =>
  pids
    .map((pid) => readFileSync(`/proc/${pid}/stat`, "utf8"))
    .map((stat) => stat.slice(stat.lastIndexOf(")") + 2).split(" "))
    .reduce((sum, fields) => sum + Number(fields[11]) + Number(fields[12]), 0)

/** When an answer counts as an error: a busy machine may starve a server for seconds. */
const TIMEOUT = "10s"

/** More than one run can use; the next run continues with others, because the first ones would reach their limits. */
const MAX_CALLERS = 1_000_000
let first = 0

/** Runs wrk for this many seconds against a server with these processes and this store. `tokens` is the file of those of mode `signed`. */
export const load = async (
  url: string,
  pids: ReadonlyArray<number>,
  storePid: number,
  mode: Mode,
  seconds: number,
  tokens = "",
): Promise<Measured> => {
  const directory = mkdtempSync(join(tmpdir(), "voicegate-bench-"))
  first += MAX_CALLERS
  try {
    const script = join(directory, "load.lua")
    writeFileSync(script, modes[mode])
    const before = ticksOf(pids)
    const storeBefore = ticksOf([storePid])
    const wrk = spawn("wrk", ["-t1", "-c64", "--timeout", TIMEOUT, `-d${seconds}s`, "-s", script, url], {
      env: { ...process.env, FIRST: String(first), TOKENS: tokens },
      stdio: ["ignore", "pipe", "inherit"],
    })
    const output = await text(wrk.stdout)
    const ticks = ticksOf(pids) - before
    const storeTicks = ticksOf([storePid]) - storeBefore
    const figure = (pattern: RegExp): number => Number(pattern.exec(output)?.[1] ?? Number.NaN)
    const answered = figure(/(\d+) requests in/)
    if (figure(/errors=(\d+)/) > 0) throw new Error(`wrk reported errors:\n${output}`)
    return {
      perSecond: figure(/Requests\/sec:\s+([\d.]+)/),
      micros: (ticks * 10_000) / answered,
      storeMicros: (storeTicks * 10_000) / answered,
      p50Micros: figure(/p50=(\d+)/),
      p99Micros: figure(/p99=(\d+)/),
      refused: /Non-2xx/.test(output) ? figure(/Non-2xx or 3xx responses: (\d+)/) : 0,
      answered,
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
