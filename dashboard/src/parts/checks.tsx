/** Any number of choices side by side. */
export function Checks<T extends string>(props: {
  legend: string;
  options: readonly { value: T; text: string; note?: string }[];
  chosen: readonly T[];
  onChange: (chosen: T[]) => void;
}) {
  return (
    <fieldset class="checks">
      <legend class="field-name">{props.legend}</legend>
      {props.options.map(({ value, text, note }) => (
        <label key={value} class="check">
          <input
            type="checkbox"
            checked={props.chosen.includes(value)}
            onChange={(event) =>
              props.onChange(
                event.currentTarget.checked ? [...props.chosen, value] : props.chosen.filter((other) => other !== value),
              )
            }
          />
          <span>
            {text}
            {note && <span class="quiet"> {note}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}
