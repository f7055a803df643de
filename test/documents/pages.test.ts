/** The pages that are rendered from the documents. */
import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { DOCUMENTS } from "../../scripts/docs/documents.ts"
import { renderPage } from "../../scripts/docs/page.ts"
import { Documented } from "../../src/http/Api.ts"
import { MOVED } from "../../src/web/docs/moved.ts"

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
      renderPage("start", page(picture("waiting"))),
      /<img src="waiting\.webp" alt="What it shows" width="\d{3,4}" height="\d{3,4}" loading="lazy">/,
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
