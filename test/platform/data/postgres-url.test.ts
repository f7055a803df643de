/** What the parameters of a PostgreSQL connection string mean, and which are refused. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted, Result } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { parsePostgresUrl, warningOf } from "../../../src/platform/data/postgres-url.ts"

const dir = mkdtempSync(join(tmpdir(), "voicegate-url-"))
afterAll(() => rmSync(dir, { recursive: true }))
const ca = join(dir, "ca.pem")
writeFileSync(ca, "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")
writeFileSync(join(dir, "junk.pem"), "junk")

const parse = (parameters: string, host = "db.example") =>
  parsePostgresUrl(Redacted.make(`postgres://me:secret@${host}/calls${parameters}`))
const target = (parameters: string, host?: string) => Result.getOrThrow(parse(parameters, host))
const problem = (parameters: string) => Result.getOrThrow(Result.flip(parse(parameters)))

describe("a PostgreSQL connection string", () => {
  it("asks for TLS in the forms of libpq and of other clients, and each has one meaning", () => {
    expect(target("").mode).toBe("prefer")
    expect(target("?sslmode=allow").mode).toBe("prefer")
    expect(target("?ssl=true").mode).toBe("require")
    expect(target("?ssl=1&sslmode=verify-full").mode).toBe("verify-full")
    expect(target("?ssl=false").mode).toBe("disable")
    expect(target(`?sslrootcert=${ca}`)).toMatchObject({ mode: "verify-full" })
    expect(target(`?sslrootcert=${ca}`).ca).toContain("BEGIN CERTIFICATE")
    expect(target("?sslmode=verify-full&sslrootcert=system").ca).toBeUndefined()
    expect(target("?application_name=x&sslmode=require&connect_timeout=3", "[2001:db8::1]:6543")).toMatchObject({
      host: "2001:db8::1",
      port: 6543,
    })
    const { url } = target("?application_name=x&sslmode=require")
    expect(Redacted.value(url)).toBe("postgres://me:secret@db.example/calls?application_name=x")
  })

  it("a PostgreSQL connection string with an unknown, repeated or contradictory parameter is refused, and the problem names it and no secret", () => {
    for (const [parameters, named] of [
      ["?sslMode=require", "sslMode: unknown parameter"],
      ["?tls=true", "tls: unknown parameter"],
      ["?sslmode=require&sslmode=disable", "sslmode: Expected it once"],
      ["?sslmode=on", "sslmode: Expected one of"],
      ["?ssl=yes", "ssl: Expected true or false"],
      ["?ssl=true&sslmode=disable", "ssl and sslmode"],
      [`?sslmode=prefer&sslrootcert=${ca}`, "sslrootcert: Expected sslmode verify-full"],
      [`?sslrootcert=${join(dir, "none.pem")}`, "cannot be read (ENOENT)"],
      [`?sslrootcert=${join(dir, "junk.pem")}`, "Expected certificates in PEM"],
    ] as const) {
      expect(problem(parameters), parameters).toContain(named)
      expect(problem(parameters)).not.toContain("secret")
    }
  })

  it("is warned of when the way to another machine is not encrypted or not verified, and not on this machine", () => {
    expect(warningOf(target(""), false)).toContain("not encrypted")
    expect(warningOf(target(""), { rejectUnauthorized: false })).toContain("not verified")
    expect(warningOf(target("?sslmode=verify-full"), {})).toBeUndefined()
    for (const host of ["localhost", "127.0.0.1:5433", "[::1]", ""]) {
      expect(warningOf(target("", host === "" ? "localhost" : host), false), host).toBeUndefined()
    }
    expect(warningOf(target("?host=/run/postgresql"), false)).toBeUndefined()
  })
})
