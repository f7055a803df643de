/** The settings of a gate for a campaign, as a settings file and as environment variables. */

export interface GateInput {
  /** undefined while it is unknown: the placeholder says what belongs there */
  readonly secret: string | undefined
  /** the platform's API, with its slash at the end */
  readonly baseUrl: string
  readonly businessId: string
  readonly webCampaignId: string
  readonly regionId: string
  /** the account's concurrent calls */
  readonly slots: number
  readonly webhookToken: string | undefined
  /** the origin of the website with the widget; empty for none */
  readonly site: string
  /** the origin that the gate is reached at; empty while it is unknown */
  readonly gate: string
}

const SECRET_PLACEHOLDER = "<secret of the API key>"
const TOKEN_PLACEHOLDER = "<token of the webhook>"

const settingsOf = (input: GateInput) => ({
  StoreConnectionString: "memory:",
  VoiceAiPlatform: {
    ApiSecretToken: input.secret ?? SECRET_PLACEHOLDER,
    BaseUrl: input.baseUrl,
    BusinessId: input.businessId,
    WebCampaignId: input.webCampaignId,
    DefaultRegionId: input.regionId,
    MaxConcurrency: input.slots,
  },
  Security: {
    WebhookApiToken: input.webhookToken ?? TOKEN_PLACEHOLDER,
    AllowedOrigins: input.site === "" ? [] : [input.site],
  },
  Server: { Host: "0.0.0.0", Port: portOf(input.gate) },
})

/**
 * The port that the gate listens on. The address of a gate on this machine names it. Elsewhere the port in an address may be that of
 * a proxy or of a container's host.
 */
const portOf = (gate: string): number => {
  const url = URL.parse(gate)
  const local = url?.protocol === "http:" && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  return local && url.port !== "" ? Number(url.port) : 8080
}

/** The settings file, JSON. */
export const settingsFile = (input: GateInput): string => JSON.stringify(settingsOf(input), undefined, 2)

/** A value for a POSIX shell. */
const quoted = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`

const linesOf = (value: unknown, name: string): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return [`export ${name}=${quoted(String(value))}`]
  const prefix = name === "" ? "" : `${name}__`
  return Object.entries(value).flatMap(([key, each]) => linesOf(each, prefix + key))
}

/** The same as commands of a shell; `__` stands between levels. */
export const environment = (input: GateInput): string => linesOf(settingsOf(input), "").join("\n")

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/
const NAME = /^[a-z\d]([a-z\d-]*[a-z\d])?(\.[a-z\d]([a-z\d-]*[a-z\d])?)*$/

/** Whether a URL's host is one that was typed: `URL` takes `12345` as the address 0.0.48.57. */
const isHost = ({ hostname }: URL, text: string): boolean => {
  if (hostname.startsWith("[")) return true
  return IPV4.test(hostname) ? text.includes(hostname) : NAME.test(hostname)
}

/** Programs of this machine seldom speak TLS, and no certificate has these names. */
const THIS_MACHINE = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * An origin from what somebody typed, such as `gate.example/`; undefined when it is none. Without a scheme it is https, and on this machine
 * http. A single word such as `nonsense` is taken only with a scheme or a port, as the name of a machine in a private network:
 * `http://gate:8080`.
 */
export const originOf = (typed: string): string | undefined => {
  const text = typed.trim()
  const https = URL.parse(SCHEME.test(text) ? text : `https://${text}`)
  const isPlain = !SCHEME.test(text) && THIS_MACHINE.test(https?.hostname ?? "")
  const url = isPlain ? URL.parse(`http://${text}`) : https
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return undefined
  const clear = SCHEME.test(text) || url.port !== "" || /[.:]|^localhost$/.test(url.hostname)
  return clear && isHost(url, text) ? url.origin : undefined
}

/** Where a gate takes session-ended webhooks. */
export const webhookUrl = (gate: string): string => `${gate}/api/webhook/session-ended`
