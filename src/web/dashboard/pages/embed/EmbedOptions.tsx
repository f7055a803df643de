/** The options of the embed code, as fields of a form: each is an attribute of the widget. */
import type { JSX } from "preact"
import { Choice, Field, Group } from "../../../shared/parts/form.tsx"
import { NAMES } from "../../../widget/languages/languages.ts"
import { TextField } from "../../parts/TextField.tsx"
import { type EmbedInput, isAddress, isColor, unknownLanguages } from "./embed-code.ts"
import { Part } from "./Parts.tsx"

type Options = Omit<EmbedInput, "gate">

interface Changed {
  readonly options: Options
  readonly change: (some: Partial<Options>) => void
}

const PLACES = [
  { value: "", label: "In the page" },
  { value: "floating", label: "Floating, in a corner of the window" },
] as const

const CORNERS = [
  { value: "", label: "Automatic" },
  { value: "bottom-right", label: "Bottom right" },
  { value: "bottom-left", label: "Bottom left" },
  { value: "bottom-center", label: "Bottom center" },
  { value: "top-right", label: "Top right" },
  { value: "top-left", label: "Top left" },
  { value: "top-center", label: "Top center" },
] as const

const THEMES = [
  { value: "", label: "As the system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
] as const

const SIZES = [
  { value: "", label: "Medium" },
  { value: "small", label: "Small" },
  { value: "large", label: "Large" },
] as const

const LAUNCHERS = [
  { value: "", label: "Pill, with a text" },
  { value: "round", label: "Circle" },
] as const

const TEXT_INPUTS = [
  { value: "", label: "When the agent accepts text" },
  { value: "on", label: "Always" },
  { value: "off", label: "Never" },
] as const

const SWITCHES = [
  { name: "pushToTalk", label: "Push to talk", hint: "The microphone is on only while a button or Space is held." },
  { name: "captions", label: "Show captions during the call" },
  { name: "check", label: "Offer a microphone check" },
  { name: "rating", label: "Ask for a rating after the call", hint: "Your page receives it as a rating event." },
] as const

const WAITING = [
  { name: "ring", label: "Ring when it’s the visitor’s turn" },
  { name: "notify", label: "Offer a notification while visitors wait" },
  { name: "autoStart", label: "Start the call automatically", hint: "When it’s the visitor’s turn." },
  { name: "pictureInPicture", label: "Offer a small always-on-top window", hint: "In browsers that support it." },
  { name: "handoff", label: "Offer a link to continue on another device" },
] as const

const CONSENT = [
  { name: "consentRemember", label: "Remember consent", hint: "In the visitor’s browser, until the text changes." },
] as const

const tongue = (tag: string): string => {
  const own = new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag
  return own.charAt(0).toLocaleUpperCase(tag) + own.slice(1)
}
const LANGUAGES: ReadonlyArray<{ readonly value: string; readonly label: string }> = [
  { value: "", label: "As the page" },
  ...NAMES.map((value) => ({ value, label: tongue(value) })),
]

export const EmbedOptions = ({ options, change }: Changed): JSX.Element => {
  const unknown = unknownLanguages(options.languages)
  const floating = options.mode === "floating"
  return (
    <>
      <Part title="Look">
        <TextField
          label="Agent’s name (optional)"
          value={options.agentName}
          onChange={(agentName) => change({ agentName })}
        />
        <TextField
          label="Heading (optional)"
          hint="The title of the first screen. Leave empty for the agent’s name, or “Talk to us”."
          value={options.heading}
          onChange={(heading) => change({ heading })}
        />
        <Accent options={options} change={change} />
        <TextField
          label="Picture of the agent (optional)"
          hint="Its address, such as https://shop.example/ada.webp."
          inputMode="url"
          error={
            options.avatar.trim() === "" || isAddress(options.avatar)
              ? undefined
              : "Enter an address that starts with https:// or /."
          }
          value={options.avatar}
          onChange={(avatar) => change({ avatar })}
        />
        <div class="pair">
          <Pick label="Theme" choices={THEMES} value={options.theme} onChange={(theme) => change({ theme })} />
          <Pick label="Size" choices={SIZES} value={options.size} onChange={(size) => change({ size })} />
        </div>
      </Part>
      <Part title="Position">
        <Pick label="Position" choices={PLACES} value={options.mode} onChange={(mode) => change({ mode })} />
        {floating && (
          <>
            <div class="pair">
              <Pick label="Corner" choices={CORNERS} value={options.corner} onChange={(corner) => change({ corner })} />
              <Pick
                label="Launcher"
                choices={LAUNCHERS}
                value={options.launcher}
                onChange={(launcher) => change({ launcher })}
              />
            </div>
            <Choice
              type="checkbox"
              label="Call with one tap"
              hint="A tap on the launcher begins the call."
              checked={options.oneTap}
              onChange={({ currentTarget }) => change({ oneTap: currentTarget.checked })}
            />
          </>
        )}
      </Part>
      <Part title="Language">
        <Pick label="Language" choices={LANGUAGES} value={options.lang} onChange={(lang) => change({ lang })} />
        <TextField
          label="Languages to choose from (optional)"
          hint="Such as en de fr. Visitors can switch between these."
          error={unknown.length === 0 ? undefined : `The widget isn’t available in ${unknown.join(", ")}.`}
          value={options.languages}
          onChange={(languages) => change({ languages })}
        />
      </Part>
      <Part title="Call">
        <Pick
          label="Text field"
          choices={TEXT_INPUTS}
          value={options.textInput}
          onChange={(textInput) => change({ textInput })}
        />
        <Switches label="During the call" of={SWITCHES} options={options} change={change} />
        <Switches label="Waiting" of={WAITING} options={options} change={change} />
      </Part>
      <Part title="Consent">
        <TextField
          label="Ask for consent (optional)"
          hint="What visitors agree to before the call, in your words."
          value={options.consent}
          onChange={(consent) => change({ consent })}
        />
        {options.consent.trim() !== "" && (
          <>
            <TextField
              label="Privacy policy (optional)"
              hint="The policy’s address. It’s linked below your text."
              value={options.consentLink}
              onChange={(consentLink) => change({ consentLink })}
            />
            <Switches label="Consent" of={CONSENT} options={options} change={change} />
          </>
        )}
      </Part>
      <Part title="Campaign">
        <TextField
          label="Campaign in the gate’s settings (optional)"
          hint="Needed only if the gate has several campaigns and this isn’t the default."
          value={options.campaign}
          onChange={(campaign) => change({ campaign })}
        />
        <TextField
          label="Region (optional)"
          hint="One of the campaign’s regions. Leave empty for its default."
          value={options.region}
          onChange={(region) => change({ region })}
        />
      </Part>
    </>
  )
}

/** A text, because a color has more names than a picker knows, with a picker beside it. */
const Accent = ({ options, change }: Changed): JSX.Element => (
  <Field
    label="Color (optional)"
    hint="The color of the buttons and the orb, as CSS writes it, such as #5b3df5."
    error={options.accent.trim() === "" || isColor(options.accent) ? undefined : "This isn’t a CSS color."}
  >
    {(control) => (
      <span class="color">
        <input
          {...control}
          autoComplete="off"
          spellcheck={false}
          value={options.accent}
          onInput={({ currentTarget }) => change({ accent: currentTarget.value })}
        />
        <input
          type="color"
          aria-label="Pick the color"
          value={/^#[\da-f]{6}$/i.test(options.accent.trim()) ? options.accent.trim() : "#0b6e4f"}
          onInput={({ currentTarget }) => change({ accent: currentTarget.value })}
        />
      </span>
    )}
  </Field>
)

const Pick = <Value extends string>({
  label,
  choices,
  value: chosen,
  onChange,
}: {
  readonly label: string
  readonly choices: ReadonlyArray<{ readonly value: Value; readonly label: string }>
  readonly value: Value
  readonly onChange: (value: Value) => void
}): JSX.Element => (
  <Field label={label}>
    {(control) => (
      <select
        {...control}
        value={chosen}
        onChange={({ currentTarget }) => {
          const picked = choices.find(({ value }) => value === currentTarget.value)
          if (picked !== undefined) onChange(picked.value)
        }}
      >
        {choices.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    )}
  </Field>
)

type SwitchName = { [Name in keyof Options]: Options[Name] extends boolean ? Name : never }[keyof Options]

const Switches = ({
  label,
  of,
  options,
  change,
}: Changed & {
  readonly label: string
  readonly of: ReadonlyArray<{ readonly name: SwitchName; readonly label: string; readonly hint?: string }>
}): JSX.Element => (
  <Group label={label}>
    {of.map(({ name, ...words }) => (
      <Choice
        key={name}
        type="checkbox"
        checked={options[name]}
        onChange={({ currentTarget }) => change({ [name]: currentTarget.checked })}
        {...words}
      />
    ))}
  </Group>
)
