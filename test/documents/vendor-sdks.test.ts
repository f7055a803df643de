/** What vendor-sdks.md gives the widget in place of a vendor's SDK: the widget takes it for that SDK, and it does what the document says. */
import { assert, describe, it } from "@effect/vitest"
import { Predicate } from "effect"
import { afterEach, beforeEach, vi } from "vitest"
import { readDocument } from "../../scripts/docs/documents.ts"

/** A vendor's part of the widget (`platform-api/<vendor>/page.ts`), as far as it is called here. Its types are those of a browser. */
interface Vendor {
  readonly connector: (sdk: object) => ((credential: object, caller: object) => Promise<unknown>) | undefined
}

const vendorOf = async (name: string): Promise<Vendor> => {
  const page: { readonly default: Vendor } = await import(`../../src/platform-api/${name}/page.ts`)
  return page.default
}

const TOOLS = "## Tools that run in the page"
const WITHOUT_EVAL = "### Vapi and Daily without unsafe-eval"

/** The code below a heading, by the label of its tab. */
const sampleOf = (heading: string, label: string): string => {
  const [, below = ""] = readDocument("vendor-sdks").split(`\n${heading}\n`)
  const [, code] = below.split(/^##/m)[0]?.split(`**${label}**\n\n\`\`\`js\n`) ?? []
  if (code === undefined) throw new Error(`vendor-sdks.md has no code for ${label} below ${heading}`)
  return code.split("\n```")[0] ?? ""
}

/** What the agent's tool in the page was asked to show. */
const shown: Array<unknown> = []
const showProduct = (id: unknown): string => `shown: ${shown.push(id)}`

/** What a sample makes of the exports of the vendor's package. */
const sdkOf = async (code: string, exports: object): Promise<object> => {
  const element: { sdk?: () => Promise<object> } = {}
  const run = new Function("element", "load", "showProduct", code.replaceAll("import(", "load("))
  run(element, async () => exports, showProduct)
  return (await element.sdk?.()) ?? {}
}

/** Calls with an SDK as the widget does, until it is asked to join, which no fake here answers. */
const call = async (vendor: string, sdk: object): Promise<void> => {
  const connect = (await vendorOf(vendor)).connector(sdk)
  if (connect === undefined) throw new Error("The widget does not take it for the vendor's SDK.")
  const caller = { microphone: { getAudioTracks: () => [] }, dynamicVariables: { name: "Tom" } }
  const credential = { platform: "any", shape: "url+token", url: "wss://vendor.example", token: "token" }
  void connect(credential, caller)
}

const never = (): Promise<never> => new Promise(() => {})
const nothing = (): void => {}

/** The classes and objects of the vendors' packages, as far as the widget and the samples use them. They note what they are given. */
const noted = new Map<string, ReadonlyArray<unknown>>()
class Vapi {
  constructor(...given: ReadonlyArray<unknown>) {
    noted.set("new", given)
  }
  on(name: string, listener: unknown): void {
    noted.set(name, [...(noted.get(name) ?? []), listener])
  }
  reconnect = never
}
class UltravoxSession {
  registerToolImplementation(name: string, tool: unknown): void {
    noted.set(name, [tool])
  }
  addEventListener = nothing
  joinCall = nothing
}
class Room {
  registerRpcMethod(name: string, method: unknown): void {
    noted.set(name, [method])
  }
  on = nothing
  registerTextStreamHandler = nothing
  connect = never
}
const Conversation = {
  startSession: (options: unknown) => {
    noted.set("options", [options])
    return never()
  },
}
const Daily = {
  createCallObject: (options: unknown) => {
    noted.set("options", [options])
    return { on: nothing, join: never }
  },
}

const ask = (given: unknown, ...functions: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  functions.map((each) =>
    Predicate.isFunction(each) ? Reflect.apply(each, undefined, [given]) : assert.fail("no function"),
  )

beforeEach(() => {
  noted.clear()
  shown.length = 0
  vi.stubGlobal("window", { setInterval: () => 0, clearInterval: nothing })
})
afterEach(() => {
  vi.unstubAllGlobals()
})

describe("the SDK with a tool that runs in the page", () => {
  it("of Vapi calls the function with what the model gives, as text or as an object, and no other", async () => {
    await call("vapi", await sdkOf(sampleOf(TOOLS, "Vapi"), { default: Vapi }))
    const listeners = noted.get("message") ?? []
    // that of the sample, and that of the widget
    assert.lengthOf(listeners, 2)
    const toolCallList = [
      { function: { name: "show_product", arguments: '{"id":7}' } },
      { function: { name: "another", arguments: "{}" } },
      { function: { name: "show_product", arguments: { id: 8 } } },
    ]
    ask({ type: "tool-calls", toolCallList }, ...listeners)
    ask({ type: "speech-update" }, ...listeners)
    assert.deepStrictEqual(shown, [7, 8])
  })

  it("of ElevenLabs begins the session with the tool, and with what the widget asks for", async () => {
    await call("elevenlabs", await sdkOf(sampleOf(TOOLS, "ElevenLabs"), { Conversation }))
    const [options] = noted.get("options") ?? []
    assert.deepInclude(Object(options), { signedUrl: "wss://vendor.example", dynamicVariables: { name: "Tom" } })
    assert.deepStrictEqual(ask({ id: 7 }, Object(options).clientTools.show_product), ["shown: 1"])
    assert.deepStrictEqual(shown, [7])
  })

  it("of Ultravox registers the function", async () => {
    await call("ultravox", await sdkOf(sampleOf(TOOLS, "Ultravox"), { UltravoxSession }))
    assert.deepStrictEqual(ask({ id: 7 }, ...(noted.get("show_product") ?? [])), ["shown: 1"])
    assert.deepStrictEqual(shown, [7])
  })

  it("of LiveKit registers the function", async () => {
    await call("livekit", await sdkOf(sampleOf(TOOLS, "LiveKit"), { Room }))
    const answers = ask({ payload: '{"id":7}' }, ...(noted.get("show_product") ?? []))
    assert.deepStrictEqual(await Promise.all(answers), ["shown: 1"])
    assert.deepStrictEqual(shown, [7])
  })
})

describe("the SDK that needs no unsafe-eval", () => {
  it("of Vapi is made with the option of Daily, and with what the widget gives it", async () => {
    await call("vapi", await sdkOf(sampleOf(WITHOUT_EVAL, "Vapi"), { default: Vapi }))
    assert.deepStrictEqual(noted.get("new"), ["", undefined, { avoidEval: true }, { audioSource: undefined }])
  })

  it("of Daily makes a call with that option, and with what the widget gives it", async () => {
    await call("daily", await sdkOf(sampleOf(WITHOUT_EVAL, "Daily"), { default: Daily }))
    assert.deepStrictEqual(noted.get("options"), [
      { audioSource: true, videoSource: false, dailyConfig: { avoidEval: true } },
    ])
  })
})
