/** README and documents say what is: every setting with its default, every code of the wire, and no link that leads nowhere. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Predicate, Result } from "effect"
import { OpenApi } from "effect/http-api"
import { DOCUMENTS, readDocument } from "../scripts/docs/documents.ts"
import { makeSlugs } from "../scripts/docs/markdown.ts"
import { renderPage } from "../scripts/docs/page.ts"
import { withSettingsTables } from "../scripts/settings-table.ts"
import { controlFindings } from "../src/cli/check/control.ts"
import { hoursText } from "../src/cli/check/hours.ts"
import { Documented } from "../src/http/Api.ts"
import { EndState, TicketState } from "../src/protocol/ticket.ts"
import { NO_VARIABLES } from "../src/settings/given.ts"
import { resolveSettings } from "../src/settings/reading/resolve.ts"
import { SettingsFile } from "../src/settings/Settings.ts"
import { settingRows } from "../src/settings/showing/table.ts"
import { variablesOf } from "../src/settings/sources/variables.ts"
import { MOVED } from "../src/web/docs/moved.ts"

const root = join(import.meta.dirname, "..")
const readme = readFileSync(join(root, "README.md"), "utf8")
const configuration = readDocument("configuration")

const section = (document: string, heading: string): string =>
  document
    .split(/^## /m)
    .find((each) => each.startsWith(`${heading}\n`))
    ?.slice(heading.length) ?? ""

const rows = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text
    .split("\n")
    .filter((line) => /^\| [`\d]/.test(line))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

const defaults: ReadonlyMap<string, string> = new Map(
  rows(section(configuration, "Settings")).map(([name = "", value = ""]) => [
    name.replaceAll("`", ""),
    value.replaceAll("`", ""),
  ]),
)

/** The names of metrics that the source declares. */
const declaredMetrics = (): ReadonlyArray<string> =>
  readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => [
      ...readFileSync(join(root, "src", file), "utf8").matchAll(/(?:Metric\.\w+|gauge)\(\s*"(voicegate_\w+)"/g),
    ])
    .flatMap(([, name]) => name ?? [])

describe("the metrics in monitoring.md", () => {
  it("are all that there are", () => {
    const named = section(readDocument("monitoring"), "Metrics")
      .split("\n")
      .filter((line) => line.startsWith("| `voicegate_"))
      .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(voicegate_\w+)`/g)])
      .flatMap(([, name]) => name ?? [])
    assert.isAbove(named.length, 15)
    assert.sameMembers(named, [...new Set(declaredMetrics())])
  })
})

describe("the settings in configuration.md", () => {
  it("are the tables that `node scripts/settings-table.ts` writes", () => {
    assert.strictEqual(withSettingsTables(configuration), configuration)
  })

  it("are every setting, and nothing else", () => {
    assert.sameMembers(
      [...defaults.keys()],
      settingRows.map(({ path }) => path),
    )
  })

  it("have the default of every setting that has a value, a list or none", () => {
    const plain = settingRows.filter(({ default: value }) =>
      /^(required|none|off|allow|plain|public|true|false|[\d.]+)$/.test(value),
    )
    assert.isAbove(plain.length, 30)
    for (const { path, default: value } of plain) assert.strictEqual(defaults.get(path), value, path)
  })
})

describe("wire.md", () => {
  it("lists every code that the OpenAPI document lists, with its status", () => {
    const table = rows(section(readDocument("wire"), "Errors")).map(([status = "", codes = ""]) => ({ status, codes }))
    const responses = Object.values(OpenApi.fromApi(Documented).paths).flatMap((path) =>
      [path.get, path.post, path.delete].flatMap((operation) => Object.entries(operation?.responses ?? {})),
    )
    const refusals = responses.filter(([status]) => Number(status) >= 400)
    const documented = refusals.flatMap(([status, { description }]) =>
      [...description.matchAll(/`([a-z]+_[a-z_]+|blocked|draining)`/g)].map(([, code]) => ({ status, code })),
    )
    assert.isAbove(documented.length, 20)
    for (const { code, status } of documented) {
      assert.isTrue(
        table.some((row) => row.status.split(" ").includes(status) && row.codes.includes(`\`${code}\``)),
        `${status} ${code}`,
      )
    }
  })

  it("lists every state of a ticket, and says which of them are over", () => {
    const [live = "", over = ""] = section(readDocument("wire"), "Tickets").split("| over as |")
    const statesIn = (text: string) => [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, state]) => state)
    assert.sameMembers([...statesIn(live), ...statesIn(over)], [...TicketState.literals])
    assert.sameMembers(statesIn(over), [...EndState.literals])
  })

  it("lists every path of the OpenAPI document", () => {
    const endpoints = section(readDocument("wire"), "Endpoints").replaceAll("{uniqueRequestId}", "{id}")
    for (const path of Object.keys(OpenApi.fromApi(Documented).paths)) assert.include(endpoints, `\`${path}\``)
  })
})

/** Each `…` stands for a value of its own that is long enough for a secret. */
const filledIn = (sample: string): string => {
  let count = 0
  return sample.replaceAll("…", () => `0123456789abcdef0123456789abcdef${String(count++).padStart(4, "0")}`)
}

const withoutCode = (markdown: string): string => markdown.replace(/^```[\s\S]*?^```/gm, "")

const anchorsOf = (markdown: string): ReadonlyArray<string> => {
  const slugOf = makeSlugs()
  return [...withoutCode(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => slugOf(heading))
}

const documents = [
  { name: "README.md", folder: root, markdown: readme },
  ...DOCUMENTS.map((name) => ({
    name: `${name}.md`,
    folder: join(root, "src/docs"),
    markdown: readDocument(name),
  })),
]

describe("README and documents", () => {
  it("have links and anchors that lead somewhere", () => {
    let links = 0
    for (const { folder, markdown, name } of documents) {
      for (const [, href = ""] of withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (href.startsWith("https:")) continue
        const [file = "", anchor] = href.split("#")
        const target = file === "" ? markdown : readFileSync(join(folder, file), "utf8")
        if (anchor !== undefined) assert.include(anchorsOf(target), anchor, `${name}: ${href}`)
        links++
      }
    }
    assert.isAbove(links, 15)
  })

  it("say in CONTRIBUTING.md where things are, by files that exist", () => {
    const [, tables = ""] = readFileSync(join(root, ".github/CONTRIBUTING.md"), "utf8").split(/^## /m)
    const files = [...tables.matchAll(/`([\w./-]+\.tsx?)`/g)].map(([, file = ""]) => file)
    assert.isAbove(files.length, 30)
    assert.deepStrictEqual(
      files.filter((file) => !existsSync(join(root, "src", file))),
      [],
    )
  })

  it("name files of this repository that exist", () => {
    for (const { markdown, name } of documents) {
      const named = markdown.matchAll(/(?<![\w/.])((?:scripts|src|test)\/[\w./-]*\w)/g)
      for (const [, file = ""] of named) assert.isTrue(existsSync(join(root, file)), `${name}: ${file}`)
    }
  })
})

describe("the README", () => {
  it("has at most 200 lines, and links every document", () => {
    assert.isAtMost(readme.trimEnd().split("\n").length, 200)
    for (const name of DOCUMENTS) assert.include(readme, `(src/docs/${name}.md)`)
  })

  it("shows a settings file that is accepted", () => {
    const [, written = ""] = /```json\n([\s\S]*?)```/.exec(readme) ?? []
    const resolved = resolveSettings(JSON.parse(written), NO_VARIABLES)
    assert.isTrue(Result.isSuccess(resolved), String(resolved))
  })
})

describe("the samples of README and documents", () => {
  const groups = Object.keys(SettingsFile.fields)
  /** A file to which a sample is added that is a part of one. */
  const file = {
    VoiceAiPlatform: {
      Platform: "vapi",
      Vapi: { ApiKey: "key", AssistantId: "one", WebhookSecret: "0123456789abcdef" },
    },
    Security: { AllowedOrigins: ["https://shop.example"] },
  }
  const isGroup = Predicate.isObject
  const added = (to: unknown, more: unknown): unknown =>
    isGroup(to) && isGroup(more) && !Array.isArray(more)
      ? {
          ...to,
          ...Object.fromEntries(Object.entries(more).map(([name, value]) => [name, added(Object(to)[name], value)])),
        }
      : more
  const problemsOf = (settings: unknown): string => {
    const resolved = resolveSettings(Object(settings), NO_VARIABLES)
    return Result.isFailure(resolved) ? resolved.failure.message : ""
  }

  it("are JSON with its braces, and what is a part of the settings file is accepted in one", () => {
    let parts = 0
    for (const { markdown, name } of documents) {
      for (const [, written = ""] of markdown.matchAll(/^```json\n([\s\S]*?)^```/gm)) {
        const sample: unknown = JSON.parse(filledIn(written))
        const names = Object.keys(Object(sample))
        if (!names.some((each) => groups.includes(each))) continue
        parts++
        const alone = problemsOf(sample)
        const problems = alone === "" ? "" : problemsOf(added(file, sample))
        assert.strictEqual(problems, "", `${name}: ${written}`)
      }
    }
    assert.isAtLeast(parts, 12)
  })
})

describe("the samples of scripts/deploy, and of the service's environment", () => {
  const deploying = readDocument("deploying")
  const VARIABLE = /^[ #]*(\w+__\w+?)(?:: |=)"?([^"\n]*)"?$/gm
  /** The variables between two comments; a file of a secret counts as a secret. */
  const variables = (text: string, from: string, until: string): ReadonlyArray<readonly [string, string]> =>
    [...(text.split(from)[1]?.split(until)[0] ?? "").matchAll(VARIABLE)].map(([, name = "", value = ""]) =>
      name.endsWith("__File") ? [name.slice(0, -"__File".length), `secret-of-${name}`] : [name, value],
    )

  it.each([
    ["compose.yaml", {}],
    ["kubernetes.yaml", {}],
    // what the settings file has beside the environment of the service
    ["deploying.md", { Platform: "vapi", Vapi: { AssistantId: "one" } }],
  ] as const)("have in %s the lines of Vapi beside those of IqraAI, and both are accepted", (file, own) => {
    const text = file === "deploying.md" ? deploying : readFileSync(join(root, "scripts/deploy", file), "utf8")
    const Iqra = { BaseUrl: "https://platform.example", BusinessId: "1", WebCampaignId: "1", DefaultRegionId: "eu" }
    const [iqra, vapi] =
      file === "deploying.md"
        ? [
            variables(text, "/etc/voicegate/environment <<'END'\n", "END"),
            variables(text, "has these two lines", "\n3. "),
          ]
        : [variables(text, "# IqraAI:", "# Vapi, in place of"), variables(text, "# Vapi, in place of", "# all:")]
    assert.property(Object.fromEntries(iqra), "VoiceAiPlatform__ApiSecretToken")
    assert.property(Object.fromEntries(vapi), "VoiceAiPlatform__Vapi__WebhookSecret")
    for (const [VoiceAiPlatform, given] of [
      [file === "deploying.md" ? Iqra : {}, iqra],
      [own, vapi],
    ] as const) {
      const resolved = resolveSettings({ VoiceAiPlatform }, variablesOf(Object.fromEntries(given)))
      assert.strictEqual(Result.isFailure(resolved) ? resolved.failure.message : "", "", file)
    }
  })
})

describe("start.md", () => {
  it("shows settings files that are accepted, each with its name", () => {
    const samples = [...readDocument("start").matchAll(/\*\*(\w+)\*\*\n\n```json\n([\s\S]*?)```/g)]
    assert.isAtLeast(samples.length, 4)
    for (const [, name, written = ""] of samples) {
      const resolved = resolveSettings(JSON.parse(written), NO_VARIABLES)
      assert.isTrue(Result.isSuccess(resolved), `${name}: ${String(resolved)}`)
    }
  })
})

describe("control.md", () => {
  const document = readDocument("control")
  const [, written = ""] = /```json\n([\s\S]*?)```/.exec(document) ?? []
  const resolved = resolveSettings(JSON.parse(filledIn(written)), NO_VARIABLES)
  /** A Monday at ten, in Berlin. */
  const now = Date.parse("2026-11-23T09:00:00Z")

  it("begins with a whole settings file, which is accepted", () => {
    assert.strictEqual(Result.isFailure(resolved) ? resolved.failure.message : "", "")
  })

  it("has placeholders in it, each of which is reported once while it is not replaced", () => {
    const left = resolveSettings(JSON.parse(written), NO_VARIABLES)
    const problems = Result.isFailure(left) ? left.failure.problems : []
    assert.deepStrictEqual(
      problems.map(({ found, path }) => [path, found]),
      [
        "VoiceAiPlatform.Vapi.ApiKey",
        "VoiceAiPlatform.Vapi.AssistantId",
        "VoiceAiPlatform.Vapi.WebhookSecret",
        "Identity.Secrets.0",
        "Security.ConsoleToken",
      ].map((path) => [path, 'the placeholder "…" in the settings file']),
    )
  })

  it("shows what `voicegate check` says of that file", () => {
    const [campaign] = Result.isSuccess(resolved) ? resolved.success.tree.Campaigns : []
    if (campaign?.Hours === undefined) return assert.fail("The file has no hours.")
    const lines = controlFindings(campaign, now).map(
      ({ message, name }) => `ok    ${name}, campaign default: ${message}\n`,
    )
    assert.lengthOf(lines, 5)
    for (const line of [...lines, `ok    hours, campaign default: ${hoursText(campaign.Hours, now)}\n`])
      assert.include(document, line)
  })
})

describe("vendors.md", () => {
  const samples = [...readDocument("vendors").matchAll(/```json\n([\s\S]*?)```/g)]
    .map(([, written = ""]) => JSON.parse(written.replaceAll("…", "0123456789abcdef")))
    .filter((sample) => !("status" in sample))

  it("begins with a whole settings file, and shows each vendor's part of one, all of which are accepted", () => {
    const [whole, ...parts] = samples
    assert.isAtLeast(parts.length, 5)
    for (const VoiceAiPlatform of [whole.VoiceAiPlatform, ...parts]) {
      const resolved = resolveSettings({ ...whole, VoiceAiPlatform }, NO_VARIABLES)
      assert.isTrue(Result.isSuccess(resolved), String(resolved))
    }
  })
})

describe("the pages", () => {
  const hrefs = (page: string): ReadonlyArray<string> =>
    [...page.matchAll(/ href="([^"]+)"/g)].map(([, href = ""]) => href)
  const ids = (page: string): ReadonlyArray<string> => [...page.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id)
  const pages: ReadonlyMap<string, string> = new Map(DOCUMENTS.map((name) => [`/voice/docs/${name}`, renderPage(name)]))

  it("link each other and the API reference, wherever the gate is mounted, and nothing that is not served", () => {
    const besides = ["/voice/docs/api", "/voice/docs/style.css"]
    for (const [path, page] of pages) {
      const targets = hrefs(page)
        .filter((href) => href !== "data:,")
        .map((href) => new URL(href, `http://gate${path}`))
      const paths = targets.map(({ pathname }) => pathname)
      assert.includeMembers(paths, [...pages.keys(), ...besides], path)
      for (const { hash, origin, pathname } of targets) {
        if (origin !== "http://gate") continue
        const target = pages.get(pathname)
        assert.isTrue(target !== undefined || besides.includes(pathname), pathname)
        if (hash !== "") assert.include(ids(target ?? ""), hash.slice(1), `${path}: ${pathname}${hash}`)
      }
    }
  })

  it("have one title, a language, and no id or name of a table twice", () => {
    for (const [path, page] of pages) {
      assert.strictEqual(page.match(/<h1 /g)?.length, 1, path)
      assert.include(page, '<html lang="en">', path)
      assert.match(page, /<title>[^<]+ · voicegate<\/title>/, path)
      assert.strictEqual(new Set(ids(page)).size, ids(page).length, path)
      const regions = [...page.matchAll(/role="region" aria-label="([^"]+)"/g)].map(([, name]) => name)
      assert.strictEqual(new Set(regions).size, regions.length, path)
    }
  })

  it("are linked by the API reference", () => {
    const { description = "" } = OpenApi.fromApi(Documented).info
    for (const name of DOCUMENTS) assert.include(description, `(${name})`)
  })

  it("show labelled code blocks in succession as tabs, one of which is chosen", () => {
    const [npm, docker] = ["**npm**\n\n```sh\nnpm start\n```", "**Docker**\n\n```sh\ndocker run\n```"]
    const blocks = [npm, docker, "**Bold** text.", "```sh\nls\n```", "**A paragraph**", "Text."].join("\n\n")
    const page = renderPage("wire", () => `# Wire\n\n## Start\n\n${blocks}`)
    const [, group = "", rest = ""] = /<fieldset class="tabs">(.*?)<\/fieldset>([\s\S]*)/s.exec(page) ?? []
    assert.deepStrictEqual(
      [...group.matchAll(/<label for="(.*?)">(.*?)<\/label>/g)].map(([, id, label]) => [id, label]),
      [
        ["tab-1-1", "npm"],
        ["tab-1-2", "Docker"],
      ],
    )
    assert.strictEqual(group.match(/ checked/g)?.length, 1)
    assert.strictEqual(group.match(/<pre /g)?.length, 2)
    assert.strictEqual(rest.match(/<pre /g)?.length, 1)
    assert.include(rest, "<strong>A paragraph</strong>")
  })

  it("show a picture in the size of its file, and cannot be rendered with one that is missing, or with other HTML", () => {
    const picture = (name: string): string =>
      `<picture>\n<source media="(prefers-color-scheme: dark)" srcset="pictures/${name}-dark.webp">\n<img src="pictures/${name}-light.webp" alt="What it shows">\n</picture>`
    const page = (text: string) => (): string => `# Start\n\n${text}`
    assert.match(
      renderPage("start", page(picture("waiting")), "docs/"),
      /<img src="docs\/waiting\.webp" alt="What it shows" width="\d{3,4}" height="\d{3,4}" loading="lazy">/,
    )
    assert.throws(() => renderPage("start", page(picture("nothing"))), /There is no picture/)
    assert.throws(() => renderPage("start", page('<img src="https://example.com/x.png">')), /no HTML/)
  })

  it("know where sections are that have moved: on a page that has them, from one that has them no more", () => {
    const [has = "", no = ""] = ["redis#keys", "operating#keys"]
    const places = new Set(
      [...pages].flatMap(([path, page]) => ids(page).map((id) => `${path.split("/").at(-1)}#${id}`)),
    )
    assert.deepStrictEqual([places.has(has), places.has(no), MOVED.get(no)], [true, false, has])
    for (const [from, to] of MOVED) {
      assert.isFalse(places.has(from), from)
      assert.isTrue(to.includes("#") ? places.has(to) : pages.has(`/voice/docs/${to}`), to)
    }
  })

  it("lead from each document to the next one", () => {
    for (const [index, name] of DOCUMENTS.entries()) {
      const [, next] =
        /<nav class="next"[^>]*>Next: <a href="([^"]+)">/.exec(pages.get(`/voice/docs/${name}`) ?? "") ?? []
      assert.strictEqual(next, DOCUMENTS[index + 1], name)
    }
  })

  it("label a cell on a narrow page only where there is more than one column that it could be of", () => {
    const page = renderPage(
      "wire",
      () =>
        "# Wire\n\n| word | meaning |\n|---|---|\n| a | b |\n\n| word | kind | meaning |\n|---|---|---|\n| a | b | c |",
    )
    assert.deepStrictEqual(
      [...page.matchAll(/data-label="(.*?)"/g)].map(([, label]) => label),
      ["kind", "meaning"],
    )
  })

  it("cannot be rendered with code in a language that is not coloured", () => {
    assert.throws(() => renderPage("wire", () => "# Wire\n\n```klingon\nHegh\n```"), /klingon/)
  })

  it("cannot be rendered with a link to what the gate does not serve", () => {
    for (const href of ["../../README.md", "missing.md", "wire", "javascript:alert(1)"]) {
      assert.throws(() => renderPage("wire", () => `# Wire\n\n[there](${href})`), /serves nothing/)
    }
  })
})
