/**
 * The state of the store, the platform, the IP provider and the gates. Of many platforms, those that are healthy are one row, and what was
 * checked of each is shown on request.
 */
import type { JSX } from "preact"
import type { Health as Item } from "../../../operator/shapes.ts"
import { checkName } from "../headline.ts"
import { Mark } from "../parts/Mark.tsx"
import { Panel } from "../parts/Panel.tsx"
import { count, localized } from "../words.ts"

const MARKS = {
  ok: ["good", "Healthy"],
  failed: ["bad", "Failing"],
  checking: ["none", "Checking"],
  off: ["none", "Off"],
} as const

type Facts = NonNullable<Item["facts"]>

const capitalized = (facts: Facts): Facts =>
  facts.map(({ detail, subject }) => ({ detail, subject: subject.charAt(0).toUpperCase() + subject.slice(1) }))

/** What fails comes first. */
const byState = (items: ReadonlyArray<Item>): ReadonlyArray<Item> =>
  items.toSorted((a, b) => Number(b.state === "failed") - Number(a.state === "failed"))

/** So many healthy platforms have a row of their own each. */
const PLATFORMS = 3

const isHealthyPlatform = ({ name, state }: Item): boolean => name.startsWith("Platform, ") && state === "ok"

/** So many items with facts are shown whole. */
const WHOLE = 1

export const Health = ({ items: all }: { readonly items: ReadonlyArray<Item> }): JSX.Element => {
  const healthy = all.filter(isHealthyPlatform)
  const isJoined = healthy.length > PLATFORMS
  const items = byState(isJoined ? all.filter((each) => !isHealthyPlatform(each)) : all)
  return (
    <Panel title="Health" id="health">
      {(heading) => (
        <ul class="health" aria-labelledby={heading}>
          {items.map(({ detail, facts = [], name, state }) => {
            const [mark, text] = MARKS[state]
            return (
              <li key={name}>
                <span>{checkName(name)}</span>
                <Mark of={mark}>{text}</Mark>
                {facts.length === 0 ? (
                  <span>{localized(detail)}</span>
                ) : state === "ok" && all.filter((each) => each.facts !== undefined).length > WHOLE ? (
                  <details>
                    <summary>
                      {count(facts.length)} checked<span class="unseen"> of {name}</span>
                    </summary>
                    <Facts of={capitalized(facts)} />
                  </details>
                ) : (
                  <Facts of={capitalized(facts)} />
                )}
              </li>
            )
          })}
          {isJoined && <Platforms of={healthy} />}
        </ul>
      )}
    </Panel>
  )
}

/** The healthy platforms of many campaigns. */
const Platforms = ({ of }: { readonly of: ReadonlyArray<Item> }): JSX.Element => (
  <li>
    <span>Platforms</span>
    <Mark of="good">Healthy</Mark>
    <details>
      <summary>
        {count(of.length)} checked<span class="unseen"> platforms</span>
      </summary>
      <Facts of={of.map(({ detail, name }) => ({ subject: name.slice("Platform, ".length), detail }))} />
    </details>
  </li>
)

/** Each thing that was checked on its own row. */
const Facts = ({ of }: { readonly of: Facts }): JSX.Element => (
  <dl>
    {of.map(({ detail, subject }) => (
      <div key={subject}>
        <dt>{subject}</dt>
        <dd>{localized(detail)}</dd>
      </div>
    ))}
  </dl>
)
