/** The headers of a webhook. A stored value is never shown, and is kept unless a new one is entered. */
import type { JSX } from "preact"
import { Field, Group } from "../../../shared/parts/form.tsx"
import type { HeaderDraft } from "./campaign-draft.ts"

export const HeaderRows = ({
  rows,
  error,
  onChange,
}: {
  readonly rows: ReadonlyArray<HeaderDraft>
  readonly error: string | undefined
  readonly onChange: (rows: ReadonlyArray<HeaderDraft>) => void
}): JSX.Element => {
  const change = (id: number, some: Partial<HeaderDraft>): void =>
    onChange(rows.map((row) => (row.id === id ? { ...row, ...some } : row)))
  return (
    <Group label="Headers" error={error}>
      {rows.map((row, index) => (
        <div key={row.id} class="header-row">
          <Field label={`Header ${index + 1} name`}>
            {(control) => (
              <input
                {...control}
                placeholder="X-Api-Token"
                autoComplete="off"
                spellcheck={false}
                value={row.name}
                onInput={({ currentTarget }) => change(row.id, { name: currentTarget.value })}
              />
            )}
          </Field>
          <Field label={`Header ${index + 1} value`}>
            {(control) => (
              <input
                {...control}
                placeholder={row.value === undefined ? "Unchanged" : ""}
                autoComplete="off"
                spellcheck={false}
                value={row.value ?? ""}
                onInput={({ currentTarget }) => change(row.id, { value: currentTarget.value })}
              />
            )}
          </Field>
          <button
            type="button"
            class="small-button"
            aria-label={`Remove header ${row.name || index + 1}`}
            onClick={() => onChange(rows.filter(({ id }) => id !== row.id))}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        class="small-button"
        onClick={() => onChange([...rows, { id: Math.max(-1, ...rows.map(({ id }) => id)) + 1, name: "", value: "" }])}
      >
        Add header
      </button>
    </Group>
  )
}
