/** The embed code of a web campaign, with the widget of its gate beside it as it will be. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Campaign } from "../../../../platform/http/dashboard/shapes.ts"
import { api } from "../../client.ts"
import { AddressField } from "../../parts/AddressField.tsx"
import { Copy } from "../../parts/Copy.tsx"
import { useLoad } from "../../parts/load.ts"
import { Empty, Show } from "../../parts/Show.tsx"
import { href } from "../../router.ts"
import { originOf } from "../setup/gate-settings.ts"
import { EmbedOptions } from "./EmbedOptions.tsx"
import { DEFAULTS, embedCode } from "./embed-code.ts"
import { PARTS, Part, PartHeading, type PartName, PartsBar } from "./Parts.tsx"
import { Preview } from "./Preview.tsx"

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

/** While there is no gate, there is neither a preview nor code. */
const WITHOUT_GATE: ReadonlyArray<PartName> = PARTS.filter((part) => part !== "Preview" && part !== "Code")

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
      <div>
        <PartsBar of={input === undefined ? WITHOUT_GATE : PARTS} />
        <div class="embed">
          {input === undefined ? (
            <Empty title="Enter the gate’s address to get the code." />
          ) : (
            <div class="part">
              <PartHeading of="Preview" />
              <Preview of={input} />
              <div class="head">
                <PartHeading of="Code" />
                <Copy text={embedCode(input)} what="the embed code" />
              </div>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
              <section class="code" tabIndex={0} aria-label="Embed code">
                <pre>{embedCode(input)}</pre>
              </section>
            </div>
          )}
          <form onSubmit={(event) => event.preventDefault()}>
            <Part title="Gate">
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
            </Part>
            <EmbedOptions options={options} change={change} />
          </form>
        </div>
      </div>
    </>
  )
}
