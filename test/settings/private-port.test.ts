import { assert, describe, it } from "@effect/vitest"
import { type Json, minimal, pathsOf } from "./support.ts"

describe("the private port", () => {
  const withServer = (Server: Json) => pathsOf({ ...minimal, Server })

  it("must differ from the public one when both listen on the same address", () => {
    for (const Server of [
      { Docs: "private", PrivatePort: 8080 },
      { Docs: "private", Port: 8081 },
      { Metrics: "private", PrivatePort: 9000, Port: 9000, PrivateHost: "10.0.0.1" },
      { Docs: "private", PrivatePort: 8080, Host: "10.0.0.1", PrivateHost: "0.0.0.0" },
    ]) {
      assert.deepStrictEqual(withServer(Server), ["Server.PrivatePort"], JSON.stringify(Server))
    }
  })

  it("may be the public one on another address, while nothing is private, and when the system chooses it", () => {
    for (const Server of [
      { Docs: "private", PrivatePort: 8080, Host: "10.0.0.1", PrivateHost: "10.0.0.2" },
      { Docs: "off", PrivatePort: 8080 },
      { Docs: "private", Port: 0, PrivatePort: 0 },
    ]) {
      assert.deepStrictEqual(withServer(Server), [], JSON.stringify(Server))
    }
  })
})
