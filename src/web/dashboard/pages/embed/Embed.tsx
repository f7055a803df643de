/** The embed code of a web campaign, with the widget of its gate beside it as it will be. */
import type { JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import type { Campaign } from "../../../../platform/http/dashboard/shapes.ts"
import { api } from "../../client.ts"
import { AddressField } from "../../parts/AddressField.tsx"
import { Copy } from "../../parts/Copy.tsx"
import { useLoad } from "../../parts/load.ts"
import { Empty, Show } from "../../parts/Show.tsx"
import { href } from "../../router.ts"
import { originOf } from "../setup/gate-settings.ts"
import { EmbedOptions } from "./EmbedOptions.tsx"
import { DEFAULTS, type EmbedInput, embedCode, previewUrl } from "./embed-code.ts"

export const Embed = ({ campaignId }: { readonly campaignId: string }): JSX.Element => {
  const loaded = useLoad(() => api.businesses.list(), "embed")
  return (
    <>
      <p>
        <a href={href("businesses")}>All businesses</a>
      </p>
      <h1 tabIndex={-1}>Embed the widget</h1>
      <Show of={loaded} what="the campaign">
        {(businesses) => {
          const campaign = businesses.flatMap(({ campaigns }) => campaigns).find(({ id }) => id === campaignId)
          return campaign === undefined ? <Empty title="This web campaign doesn’t exist." /> : <Builder of={campaign} />
        }}
      </Show>
    </>
  )
}

const Builder = ({ of }: { readonly of: Campaign }): JSX.Element => {
  const [gate, setGate] = useState(originOf(of.webhook?.url ?? "") ?? "")
  const [options, setOptions] = useState(DEFAULTS)
  const origin = gate.trim() === "" ? undefined : originOf(gate)
  const change = (some: Partial<typeof DEFAULTS>): void => setOptions((before) => ({ ...before, ...some }))
  const input = origin === undefined ? undefined : { ...options, gate: origin }
  return (
    <>
      <p class="lead">
        Paste this code into a page of your website, where the widget of {of.name} should be. Add the site’s address to
        the gate’s <code>Security.AllowedOrigins</code>.
      </p>
      <div class="embed">
        <form onSubmit={(event) => event.preventDefault()}>
          <AddressField
            label="Gate address"
            error={
              gate.trim() !== "" && origin === undefined
                ? "Enter the address, such as https://gate.example."
                : undefined
            }
            placeholder="https://gate.example"
            value={gate}
            onChange={setGate}
          />
          <EmbedOptions options={options} change={change} />
        </form>
        {input === undefined ? (
          <Empty title="Enter the gate’s address to get the code." />
        ) : (
          <div class="part">
            <div class="head">
              <h2>Code</h2>
              <Copy text={embedCode(input)} what="the embed code" />
            </div>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
            <section class="code" tabIndex={0} aria-label="Embed code">
              <pre>{embedCode(input)}</pre>
            </section>
            <h2>Preview</h2>
            <Preview of={input} />
          </div>
        )}
      </div>
    </>
  )
}

/** How long the input rests before the preview is loaded, in milliseconds. */
const REST_MILLIS = 600
/** How long a gate may take to show the preview before the page says what may be wrong, in milliseconds. */
const PATIENCE_MILLIS = 5_000

/**
 * The widget of the gate, in a frame of the gate's own origin. A gate on this page's origin would share its data with the frame,
 * so there is no preview of such a one.
 */
const Preview = ({ of }: { readonly of: EmbedInput }): JSX.Element => {
  const wanted = previewUrl(of)
  const [url, setUrl] = useState(wanted)
  const [state, setState] = useState<"loading" | "shown" | "missing">("loading")
  useEffect(() => {
    const timer = window.setTimeout(() => setUrl(wanted), REST_MILLIS)
    return () => clearTimeout(timer)
  }, [wanted])
  useEffect(() => {
    setState("loading")
    const timer = window.setTimeout(() => setState((now) => (now === "shown" ? now : "missing")), PATIENCE_MILLIS)
    const hear = ({ data, origin }: MessageEvent): void => {
      if (data === "voicegate-preview" && origin === new URL(url).origin) setState("shown")
    }
    addEventListener("message", hear)
    return () => {
      clearTimeout(timer)
      removeEventListener("message", hear)
    }
  }, [url])
  if (of.gate === location.origin) {
    return <p class="small">A gate at this dashboard’s own address can’t be previewed.</p>
  }
  return (
    <>
      <p class="small">This is the live widget. Calls you start here are real.</p>
      {state === "missing" && (
        <p class="notice" role="alert">
          The gate isn’t showing its preview here. Check its address, and add <code>{location.origin}</code> to its{" "}
          <code>Security.AllowedOrigins</code>.
        </p>
      )}
      <iframe
        key={url}
        class="preview"
        title="Preview of the widget"
        src={`preview?${new URLSearchParams({ url })}`}
        sandbox="allow-scripts allow-same-origin allow-forms"
        allow="microphone; autoplay"
        referrerpolicy="no-referrer"
      />
    </>
  )
}
