/** What is said of a connection that has failed. */
import { assert, describe, it } from "@effect/vitest"
import { explained } from "../../src/lib/http-client.ts"

describe("a failed connection", () => {
  it.each([
    [
      "ENOTFOUND",
      " (ENOTFOUND); this machine's DNS does not know its name: check the internet connection, and the spelling if you have set this address",
    ],
    ["EAI_AGAIN", " (EAI_AGAIN); its name could not be looked up: check this machine's DNS"],
    [
      "CERT_HAS_EXPIRED",
      " (CERT_HAS_EXPIRED); its certificate is not accepted: NODE_EXTRA_CA_CERTS may name a file with its CA",
    ],
    ["ETIMEDOUT", " (ETIMEDOUT); no connection comes about: check the address, the network and its firewalls"],
    ["ECONNRESET", " (ECONNRESET)"],
    ["", ""],
  ])("is explained by its code, where that says something about the address: %s", (code, text) => {
    assert.strictEqual(explained(code), text)
  })
})
