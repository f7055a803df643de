/** What the dashboard takes as the address of a gate or of a website, and the settings that it gives a gate. */
import { describe, expect, it } from "vitest"
import { environment, originOf } from "../../../src/web/dashboard/pages/setup/gate-settings.ts"

describe("an address that somebody types", () => {
  it("is taken without a scheme, with a path, and in capitals", () => {
    expect(originOf("gate.example/")).toBe("https://gate.example")
    expect(originOf(" https://Gate.Example/console?x=1 ")).toBe("https://gate.example")
    expect(originOf("http://127.0.0.1:8080")).toBe("http://127.0.0.1:8080")
    expect(originOf("[2001:db8::1]:8443")).toBe("https://[2001:db8::1]:8443")
    expect(originOf("bücher.example")).toBe("https://xn--bcher-kva.example")
  })

  it("is a single word only with a scheme or a port, as in a private network", () => {
    expect(originOf("nonsense")).toBeUndefined()
    expect(originOf("http://gate:8080")).toBe("http://gate:8080")
    expect(originOf("gate:8080")).toBe("https://gate:8080")
  })

  it("is http without a scheme on this machine, as a gate that somebody tries out is", () => {
    expect(originOf("localhost:8080")).toBe("http://localhost:8080")
    expect(originOf("localhost")).toBe("http://localhost")
    expect(originOf("127.0.0.1:8080/")).toBe("http://127.0.0.1:8080")
    expect(originOf("[::1]:8080")).toBe("http://[::1]:8080")
    expect(originOf("shop.localhost:3000")).toBe("http://shop.localhost:3000")
    expect(originOf("https://localhost:8443")).toBe("https://localhost:8443")
    expect(originOf("localhost.example:8443")).toBe("https://localhost.example:8443")
  })

  it("is not a number, an e-mail address, a name with other characters, or another scheme", () => {
    for (const typed of [
      "",
      "12345",
      "1.2",
      "0x7f.1",
      "me@gate.example",
      "https://user:secret@gate.example",
      "gate_1.example!",
      "gate..example",
      "ftp://gate.example",
      "javascript:alert(1)",
      "two words.example",
    ]) {
      expect(originOf(typed), typed).toBeUndefined()
    }
  })
})

it("says in the settings where a secret belongs, in words that a shell leaves alone", () => {
  const text = environment({
    secret: undefined,
    baseUrl: "https://platform.example/api/v1/",
    businessId: "b1",
    webCampaignId: "c1",
    regionId: "eu",
    slots: 2,
    webhookToken: undefined,
    site: "",
    gate: "",
  })
  expect(text).toContain("export VoiceAiPlatform__ApiSecretToken='<secret of the API key>'\n")
  expect(text).toContain("export Security__WebhookApiToken='<token of the webhook>'\n")
})
