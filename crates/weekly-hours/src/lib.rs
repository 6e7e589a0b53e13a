//! Hours of the week, in a time zone: spans such as `mon-fri` from `21:00` to `07:00`, and what a
//! clock on the wall shows at a moment, and where its hours, days and months begin.
//!
//! Pure: the moment is handed in, and the zones come with the program. Asked by the policy's
//! schedules and by the statistics.

mod calendar;
mod span;
mod zone;

pub use calendar::CalendarStep;
pub use span::{HourSpan, HoursError};
pub use zone::{ClockHour, ScheduleZone};
