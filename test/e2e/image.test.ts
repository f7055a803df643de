/** The container files of `scripts/deploy`: the image's file system as the Dockerfile says, and settings that exist. */
import { execFile, spawn, spawnSync } from "node:child_process"
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Yaml from "effect/encoding/Yaml"
import { isKnown, settingRows } from "../../src/settings/showing/table.ts"
import { parseConnectionString } from "../../src/store/connection-string.ts"
import { whenBuilt } from "../harness/build.ts"
import { settingsFor, withBench } from "../harness/gate.ts"
import { eventually, freePort } from "../harness/process.ts"
import { startPlatform } from "../harness/servers.ts"

const root = join(import.meta.dirname, "../..")
const text = (name: string): string => readFileSync(join(root, "scripts/deploy", name), "utf8")
const run = promisify(execFile)

const dockerfile = text("Dockerfile")
const instructions = dockerfile.split("\n").filter((line) => /^[A-Z]+ /.test(line))
const ignored = readFileSync(join(root, ".dockerignore"), "utf8").split("\n")
const final = instructions.slice(instructions.findLastIndex((line) => line.startsWith("FROM ")))

interface Copy {
  readonly from: string | undefined
  readonly sources: ReadonlyArray<string>
  readonly target: string
}
const copiesOf = (lines: ReadonlyArray<string>): ReadonlyArray<Copy> =>
  lines.flatMap((line) => {
    const [, from, paths = ""] = /^COPY (?:--from=(\S+) )?(.+)$/.exec(line) ?? []
    const names = paths.split(" ")
    return paths === "" ? [] : [{ from, sources: names.slice(0, -1), target: names.at(-1) ?? "" }]
  })

const Lock = Schema.fromJsonString(
  Schema.Struct({
    packages: Schema.Record(
      Schema.String,
      Schema.Struct({ dev: Schema.optionalKey(Schema.Boolean), devOptional: Schema.optionalKey(Schema.Boolean) }),
    ),
  }),
)
const lock = Schema.decodeUnknownSync(Lock)(readFileSync(join(root, "package-lock.json"), "utf8"))

/** What `npm ci --omit=dev` installs, by the lock file. */
const production = Object.entries(lock.packages)
  .filter(([path, { dev = false, devOptional = false }]) => path !== "" && !dev && !devOptional)
  .map(([path]) => path)
  // those inside another package come with it
  .filter((path) => path.lastIndexOf("node_modules/") === 0 && existsSync(join(root, path)))

/** Carries out the COPY instructions of the last stage. Packages are linked, because a copy of all takes half a minute. */
const assemble = (app: string): void => {
  for (const { from, sources, target } of copiesOf(final)) {
    for (const source of sources) {
      const name = from === undefined ? source : source.replace(/^\/\w+\//, "")
      const to = target === "./" ? name : target
      if (name === "node_modules") {
        for (const path of production) {
          mkdirSync(dirname(join(app, path)), { recursive: true })
          symlinkSync(join(root, path), join(app, path))
        }
      } else {
        cpSync(join(root, name), join(app, to), { recursive: true })
      }
    }
  }
}

// a build on a busy machine takes longer than a test may
beforeAll(whenBuilt, 180_000)

describe("the Dockerfile", () => {
  it("copies files that exist and are sent to the builder, and nothing else is sent", () => {
    const sent = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1))
    assert.include(ignored, "*")
    for (const name of sent) assert.isTrue(existsSync(join(root, name)), name)
    for (const { from, sources } of copiesOf(instructions)) {
      if (from !== undefined) {
        assert.match(dockerfile, new RegExp(`^FROM \\S+ AS ${from}$`, "m"))
        continue
      }
      for (const pattern of sources) {
        // all that is sent, and files that may be missing (`package-lock.jso[n]`): the package has no lock file
        if (pattern === ".") continue
        const source = pattern.replace(/\[(.)\]/g, "$1")
        assert.isTrue(existsSync(join(root, source)), source)
        assert.isTrue(
          sent.some((name) => source === name || source.startsWith(`${name}/`)),
          source,
        )
      }
    }
    // `prepare` would run a script that is not copied at that step
    for (const [line] of dockerfile.matchAll(/npm (?:ci|install)[^;&]*/g)) assert.include(line, "--ignore-scripts")
    assert.notMatch(dockerfile, /^RUN .*setup\.mjs/m)
    assert.notMatch(dockerfile, /^(?:ARG|ENV) .*(?:token|secret|key|password)/im)
    assert.isTrue(final.some((line) => /^USER [1-9]/.test(line)))
  })

  it(
    "assembles an image in which the gate serves without root, and whose health check tells",
    withBench(async ({ own }) => {
      const platform = own(await startPlatform())
      const app = mkdtempSync(join(tmpdir(), "voicegate-image-"))
      try {
        assemble(app)
        // Docker makes directories that every user can read
        chmodSync(app, 0o755)
        const identity = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {}
        const port = String(await freePort())
        const env = {
          // packages find others where they are linked, so that nothing but these is used
          NODE_OPTIONS: "--preserve-symlinks",
          PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}`,
          ...settingsFor(platform, { Server__Port: port }),
        }
        const health = JSON.parse(/^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "[]")
        const isHealthy = () =>
          run(health[0], health.slice(1), { cwd: app, env, ...identity }).then(
            () => true,
            () => false,
          )
        assert.isFalse(await isHealthy())
        const entry = JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)?.[1] ?? "[]")
        const gate = spawn(entry[0], entry.slice(1), { cwd: app, env, stdio: ["ignore", "pipe", "pipe"], ...identity })
        let output = ""
        for (const stream of [gate.stdout, gate.stderr]) stream.on("data", (chunk) => (output += chunk))
        const exited = new Promise<number | null>((resolve) => gate.once("exit", resolve))
        try {
          await eventually("the gate serves", () => {
            if (gate.exitCode !== null) throw new Error(output)
            return /listens at/.test(output)
          })
          assert.isTrue(await isHealthy())
          if (identity.uid !== undefined) {
            assert.match(readFileSync(`/proc/${gate.pid}/status`, "utf8"), /^Uid:\s+1000\s+1000/m)
          }
          const page = await fetch(`http://127.0.0.1:${port}/widget.js`)
          assert.strictEqual(page.status, 200)
          gate.kill("SIGTERM")
          assert.strictEqual(await exited, 0)
        } finally {
          gate.kill("SIGKILL")
          await exited
        }
      } finally {
        rmSync(app, { recursive: true, force: true })
      }
    }),
  )
})

const documentsIn = (name: string): ReadonlyArray<unknown> => text(name).split(/^---$/m).map(Yaml.parse)

const Variables = Schema.Record(Schema.String, Schema.String)
const Kind = Schema.Struct({ kind: Schema.String, apiVersion: Schema.String, spec: Schema.optionalKey(Schema.Unknown) })
const Container = Schema.Struct({
  lifecycle: Schema.Struct({ preStop: Schema.Struct({ sleep: Schema.Struct({ seconds: Schema.Int }) }) }),
  securityContext: Schema.Struct({ readOnlyRootFilesystem: Schema.Literal(true) }),
  readinessProbe: Schema.Struct({ httpGet: Schema.Struct({ path: Schema.Literal("/health/ready") }) }),
  livenessProbe: Schema.Struct({ httpGet: Schema.Struct({ path: Schema.Literal("/health/live") }) }),
})
const Deployment = Schema.Struct({
  template: Schema.Struct({
    spec: Schema.Struct({
      terminationGracePeriodSeconds: Schema.Int,
      securityContext: Schema.Struct({ runAsNonRoot: Schema.Literal(true) }),
      containers: Schema.Tuple([Container]),
    }),
  }),
})

describe("compose.yaml and kubernetes.yaml", () => {
  it("are valid YAML with the parts that they promise", () => {
    const compose = Schema.decodeUnknownSync(
      Schema.Struct({
        services: Schema.Struct({
          redis: Schema.Unknown,
          gate: Schema.Struct({
            read_only: Schema.Literal(true),
            ports: Schema.Tuple([Schema.String]),
            environment: Variables,
          }),
          page: Schema.Struct({ ports: Schema.Tuple([Schema.String]) }),
        }),
      }),
    )(documentsIn("compose.yaml")[0])
    // the page asks the gate where it listens, and the gate allows the page
    const portOf = ([mapping]: readonly [string]) => `http://localhost:${mapping.split(":")[1]}`
    const { gate, page } = compose.services
    assert.include(text("page/index.html"), `<voice-agent gate="${portOf(gate.ports)}">`)
    assert.include(text("page/index.html"), `src="${portOf(gate.ports)}/widget.js"`)
    assert.strictEqual(gate.environment.Security__AllowedOrigins__0, portOf(page.ports))
    const objects = documentsIn("kubernetes.yaml").map((each) => Schema.decodeUnknownSync(Kind)(each))
    assert.deepStrictEqual(
      objects.map(({ kind }) => kind),
      ["ConfigMap", "Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"],
    )
    const { spec } = Schema.decodeUnknownSync(Deployment)(objects[1]?.spec).template
    const [{ lifecycle }] = spec.containers
    // the process exits within ten seconds of SIGTERM and the time over which callers are sent away
    const drain = Number(/Server__DrainSeconds: "(\d+)"/.exec(text("kubernetes.yaml"))?.[1])
    assert.isAtLeast(spec.terminationGracePeriodSeconds, lifecycle.preStop.sleep.seconds + drain + 10)
  })

  it("name settings that exist", () => {
    for (const name of ["compose.yaml", "kubernetes.yaml", "voicegate.service", "Dockerfile"]) {
      const named = text(name).match(/\b(?:[A-Za-z]+__\w+|StoreConnectionString\w*)/g) ?? []
      if (name !== "voicegate.service" && name !== "Dockerfile") assert.isAbove(named.length, 8)
      for (const variable of named) {
        const path = variable.replace(/__File$/, "").replaceAll("__", ".")
        assert.isTrue(isKnown(path), `${name}: ${variable}`)
      }
    }
    assert.isFalse(isKnown("VoiceAiPlatform.BusinesId"))
    const required = settingRows
      .filter((row) => row.default === "required")
      .map(({ path }) => path.replaceAll(".", "__"))
    for (const variable of required) {
      for (const name of ["compose.yaml", "kubernetes.yaml"]) assert.include(text(name), variable)
    }
    const store = /StoreConnectionString: (\S+)/.exec(text("compose.yaml"))?.[1] ?? ""
    assert.strictEqual(parseConnectionString(store)._tag, "Success")
  })
})

describe("redis.conf", () => {
  it("is accepted by Redis: it evicts nothing and keeps a log", async () => {
    const directory = mkdtempSync(join(tmpdir(), "voicegate-redis-"))
    const port = String(await freePort())
    const file = join(root, "scripts/deploy/redis.conf")
    const redis = spawn("redis-server", [file, "--dir", directory, "--port", port, "--bind", "127.0.0.1"])
    const exited = new Promise((resolve) => redis.once("exit", resolve))
    try {
      const ask = async (...args: ReadonlyArray<string>) => (await run("redis-cli", ["-p", port, ...args])).stdout
      await eventually("Redis answers", async () => (await ask("ping")) === "PONG\n")
      assert.include(await ask("config", "get", "maxmemory-policy"), "noeviction")
      assert.include(await ask("config", "get", "appendonly"), "yes")
    } finally {
      redis.kill("SIGKILL")
      await exited
      rmSync(directory, { recursive: true, force: true })
    }
  })
})

describe("the Caddyfile", () => {
  it("is valid", () => {
    const home = mkdtempSync(join(tmpdir(), "voicegate-caddy-"))
    const file = join(root, "scripts/deploy/Caddyfile")
    try {
      const { status, stderr } = spawnSync("caddy", ["validate", "--config", file, "--adapter", "caddyfile"], {
        encoding: "utf8",
        env: { PATH: process.env.PATH ?? "", HOME: home },
      })
      assert.strictEqual(status, 0, stderr)
      assert.notInclude(stderr, "not formatted")
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  })
})
